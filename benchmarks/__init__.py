"""Benchmarks: data, peers, the product beside them, and its kernels. See README.md."""
