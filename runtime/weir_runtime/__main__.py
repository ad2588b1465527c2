"""`python -m weir_runtime FRAGMENT.json`."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

from weir_placement.model.fragment import FragmentError, FragmentSpec

from weir_runtime import last_words
from weir_runtime.lease import FileLease, FragmentLease
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


def lease_at(location: str) -> FragmentLease:
    """A file's path, or `kubernetes:NAMESPACE/NAME`. Raises FragmentError."""
    if not location.startswith("kubernetes:"):
        return FileLease(location)
    from weir_runtime.api_server import Server
    from weir_runtime.kubernetes_lease import KubernetesLease

    namespace, _, name = location.removeprefix("kubernetes:").partition("/")
    host = os.environ.get("KUBERNETES_SERVICE_HOST")
    if not namespace or not name:
        raise FragmentError(f"fragment.lease: {location!r}; write kubernetes:NAMESPACE/NAME")
    if not host:
        raise FragmentError(
            f"fragment.lease: {location!r}, but this process does not run in a pod; give a file's path"
        )
    port = int(os.environ.get("KUBERNETES_SERVICE_PORT", "443"))
    return KubernetesLease(Server.of_pod(host, port), namespace, name)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    end()
    os._exit(code)  # Spark's clients would only find that their JVM is gone
