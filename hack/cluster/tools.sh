# shellcheck shell=bash
# Programs built from Go modules into $CACHE/bin: kind and, where no node image can be had, a whole Kubernetes.

need_go() { command -v go >/dev/null || fail "go (1.24 or newer) is missing: it builds $1"; }

# go_tool NAME MODULE VERSION: go install, once for each version
go_tool() {
  [[ -x $CACHE/bin/$1 ]] && fresh "$1" "$3" && return
  need_go "$1"
  step "building $1 $3"
  GOBIN=$CACHE/bin CGO_ENABLED=0 quietly "$1" nice -n 10 go install -ldflags '-s -w' "$2@$3"
  stamp "$1" "$3"
}

# go_program NAME [LDFLAGS]: builds the main package of cluster/NAME, again when it changed
go_program() {
  local digest; digest=$(digest "$HACK/cluster/$1")
  [[ -x $CACHE/bin/$1 ]] && fresh "$1" "$digest" && return
  need_go "$1"
  step "building $1$([[ $1 == kube ]] && echo ' (about 7 minutes the first time)')"
  (cd "$HACK/cluster/$1" && CGO_ENABLED=0 quietly "$1" \
    nice -n 10 go build -trimpath -buildvcs=false -ldflags "-s -w ${2:-}" -o "$CACHE/bin/$1" .)
  stamp "$1" "$digest"
}

# ensure_kube: the programs of Kubernetes itself, and etcd
ensure_kube() {
  local flags="" package minor=${KUBERNETES#v1.}
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $package.gitVersion=$KUBERNETES -X $package.gitMajor=1 -X $package.gitMinor=${minor%%.*}"
    flags+=" -X $package.gitTreeState=clean"
  done
  go_program kube "$flags"
  go_program etcd
  ln -sf kube "$CACHE/bin/kubeadm"
  ln -sf kube "$CACHE/bin/kubectl"
}

build_kubernetes() {
  ensure_kube
  go_program pause
  go_tool coredns github.com/coredns/coredns "$COREDNS"
}

ensure_kind() { go_tool kind sigs.k8s.io/kind "$KIND"; }

ensure_helm() { go_tool helm helm.sh/helm/v3/cmd/helm "$HELM"; }

ensure_kubeconform() { go_tool kubeconform github.com/yannh/kubeconform/cmd/kubeconform "$KUBECONFORM"; }

ensure_kwok() {
  go_tool kwok sigs.k8s.io/kwok/cmd/kwok "$KWOK"
  go_tool kwokctl sigs.k8s.io/kwok/cmd/kwokctl "$KWOK"
}

ensure_versitygw() { go_tool versitygw github.com/versity/versitygw/cmd/versitygw "$VERSITYGW"; }

ensure_promtool() { debian_packages promtool prometheus; }
