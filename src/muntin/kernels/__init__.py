"""Loops over arrays, compiled by Numba: the only place that knows it."""
