"""Final aggregation (paper 4): from values or slices to sliding windows. One algorithm per file."""
