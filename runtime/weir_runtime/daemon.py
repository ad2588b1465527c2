"""The process from which Spark forks its Python workers: with our readers imported, so a fork is warm."""

from __future__ import annotations

import pyarrow as pa
from pyspark import daemon

if __name__ == "__main__":
    pa.set_cpu_count(1)  # no thread may exist before a fork
    daemon.manager()
