"""The embedded slicing engine: columns in, slices, windows out."""
