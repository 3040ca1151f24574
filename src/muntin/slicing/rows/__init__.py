"""Rows windows over slices of positions (paper 1, sections 5.2, 5.3 and 6.3.2)."""
