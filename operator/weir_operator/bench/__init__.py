"""Benches of what Spark and reading manifests cost on this machine: `weir bench`, `weir calibrate`."""
