"""The operator's image has no Spark and nothing of the runtime (hack/images/operator)."""

from __future__ import annotations

import subprocess
import sys

WITHOUT = """
import sys
for name in ("weir_runtime", "pyspark", "pyarrow"):
    sys.modules[name] = None
import weir_operator.kube.main
"""


def test_the_operator_starts_without_the_runtime() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
