"""Benchmarks: each workload beside a floor measured in the same run. `python -m muntin.bench` runs them."""
