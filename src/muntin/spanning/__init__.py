"""Events with a duration: slices that tell events that end in them from those that go on (paper 3)."""
