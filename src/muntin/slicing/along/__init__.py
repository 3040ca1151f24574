"""Windows on another column (`on=`) over slices along that column (paper 1, sections 4.2 and 5.3)."""
