# shellcheck shell=bash
# A Docker engine: the one that runs, or one started here (and stopped again by `down`).

DOCKERD_PID=$CACHE/dockerd.pid

as_root_only() { [[ $(id -u) == 0 ]] || fail "$1 needs root; run as root, or install and start Docker yourself"; }

debian_packages() { # COMMAND PACKAGE...: installs the packages unless the command is there
  local command=$1; shift
  command -v "$command" >/dev/null && return
  as_root_only "installing $*"
  command -v apt-get >/dev/null || fail "$command is missing and this is no Debian: install it and try again"
  step "installing $*"
  quietly apt-update apt-get update -qq
  quietly "apt-$command" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o DPkg::Lock::Timeout=300 "$@"
}

# CAP_SYS_RESOURCE is bit 24: without it in the bounding set a privileged container cannot be started as it is
lacks_sys_resource() { (( (0x$(sed -n 's/^CapBnd:\s*//p' /proc/self/status) >> 24 & 1) == 0 )); }

# a lock that the caller holds would be held for as long as the command goes on
without_files_of_the_caller() { # COMMAND...: only its input, output and errors are left open
  local fd
  for fd in /proc/"$BASHPID"/fd/*; do
    fd=${fd##*/}
    if ((fd > 2)); then exec {fd}>&-; fi
  done
  exec "$@"
}

start_dockerd() {
  as_root_only "starting a Docker engine"
  debian_packages dockerd docker.io
  local flags=(--pidfile "$DOCKERD_PID")
  if lacks_sys_resource; then
    install -m 755 "$HACK/cluster/node/runc-lean" "$CACHE/bin/runc-lean"
    flags+=(--add-runtime "lean=$CACHE/bin/runc-lean" --default-runtime lean)
  fi
  step "starting a Docker engine"
  without_files_of_the_caller setsid dockerd "${flags[@]}" >"$LOGS/dockerd.log" 2>&1 </dev/null &
  wait_until 60 "the Docker engine answers (log: $LOGS/dockerd.log)" docker info
}

ensure_docker() {
  if ! docker info >/dev/null 2>&1; then start_dockerd; fi
  docker buildx version >/dev/null 2>&1 || export DOCKER_BUILDKIT=0    # a newer client insists on BuildKit
  if [[ -w /proc/sys/fs/inotify/max_user_instances ]] && (($(</proc/sys/fs/inotify/max_user_instances) < 1024)); then
    echo 1024 >/proc/sys/fs/inotify/max_user_instances                 # four kubelets and their systemds
    echo 1048576 >/proc/sys/fs/inotify/max_user_watches
  fi
}

stop_dockerd() { # only the one that was started here
  [[ -f $DOCKERD_PID ]] || return 0
  local pid; pid=$(<"$DOCKERD_PID")
  if [[ $(ps -o comm= -p "$pid") == dockerd ]]; then
    step "stopping the Docker engine"
    kill "$pid"
    wait_until 60 "the Docker engine stops" test ! -d "/proc/$pid"
  fi
  rm -f "$DOCKERD_PID"
}
