"""`python -m weir_runtime.snapshots JOB`: what a pod of the operator does about one snapshot."""

from __future__ import annotations

import sys

from weir_runtime.snapshots.job import main

raise SystemExit(main(sys.argv[1:]))
