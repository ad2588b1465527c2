"""`python -m weir_runtime FRAGMENT.json`."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

from weir_placement.model.fragment import FragmentError, FragmentSpec

from weir_runtime import last_words
from weir_runtime.locations import lease_at
from weir_runtime.process import FragmentProcess
from weir_runtime.session import end


def main(arguments: list[str]) -> int:
    """Runs the fragment; exit codes are in docs/runtime.md."""
    if len(arguments) != 1:
        print("usage: python -m weir_runtime FRAGMENT.json", file=sys.stderr)
        return 2
    try:
        spec = FragmentSpec.from_json(Path(arguments[0]).read_text())
        return FragmentProcess(spec, lease_at(spec.lease)).run()
    except FragmentError as error:
        print(f"{arguments[0]}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{arguments[0]}: {error}", file=sys.stderr)
        return 1
    except Exception as error:
        traceback.print_exc()
        last_words.leave(error)
        return 1


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    end()
    os._exit(code)  # Spark's clients would only find that their JVM is gone
