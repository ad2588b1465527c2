# shellcheck shell=bash
# Shared by the scripts of hack/: where things are kept, how progress is told, when a thing must be made again.
set -euo pipefail

HACK=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
REPO=$(dirname "$HACK")
CACHE=${WEIR_CACHE:-$HOME/.cache/weir}
CLUSTER=${WEIR_CLUSTER:-weir}
SHARED=$CACHE/shared-$CLUSTER   # mounted into every node: the ReadWriteMany volume of the cluster under test
LOGS=$CACHE/logs-$CLUSTER
export KUBECONFIG=$CACHE/kubeconfig-$CLUSTER
mkdir -p "$CACHE/bin" "$CACHE/stamps" "$SHARED" "$LOGS"
export PATH=$CACHE/bin:$PATH
source "$HACK/versions.sh"

step() { printf '%5ss  %s\n' "$SECONDS" "$*" >&2; }

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# quietly NAME COMMAND...: the command's output goes to a log file, of which a failure shows the end
quietly() {
  local log=$LOGS/$1.log; shift
  "$@" >"$log" 2>&1 || { tail -n 30 "$log" >&2; fail "'$*' failed; all of its output is in $log"; }
}

# digest PATH...: one hash over names and contents of files and folders (caches of Python left out), the same in
# every checkout of them
digest() {
  find "$@" -type f ! -path '*/__pycache__/*' ! -path '*.egg-info/*' -print0 | sort -z | xargs -0 sha256sum |
    sed "s:  $REPO/:  :" | sha256sum | cut -c1-16
}

# fresh NAME DIGEST: true when NAME was made from inputs of this digest; stamp NAME DIGEST records it
fresh() { [[ -f $CACHE/stamps/$1 && $(<"$CACHE/stamps/$1") == "$2" ]]; }
stamp() { printf %s "$2" >"$CACHE/stamps/$1"; }

# wait_until SECONDS WHAT COMMAND...: until the command succeeds, or fail
wait_until() {
  local deadline=$((SECONDS + $1)) what=$2; shift 2
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < deadline)) || fail "$what: still not so; last asked: $*"
    sleep 0.5
  done
}
