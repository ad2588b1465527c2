# shellcheck shell=bash
# The image of a node, made without any container registry: a Debian with systemd, containerd and the Kubernetes
# built here, and the control plane's images already in its containerd.

# debian_root IMAGE PACKAGES [DOCKERFILE LINE...]: a minimal Debian with these packages, imported as one image.
# The machine's own certificate authorities come along: behind a company's proxy nothing could be installed else.
debian_root() {
  local image=$1 packages=$2 root changes=() line; shift 2
  docker image inspect "$image" >/dev/null 2>&1 && fresh "${image//\//-}" "$DEBIAN $packages $*" && return
  as_root_only "debootstrap"
  debian_packages debootstrap debootstrap
  step "making $image by debootstrap"
  root=$(mktemp -d "$CACHE/root.XXXXXX")
  quietly debootstrap debootstrap --variant=minbase "--include=ca-certificates,$packages" "$DEBIAN" "$root"
  if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then
    cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/"
    quietly ca-certificates chroot "$root" update-ca-certificates
  fi
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
  for line in "$@"; do changes+=(--change "$line"); done
  tar -C "$root" -c . | docker import "${changes[@]}" - "$image" >/dev/null
  rm -rf "$root"
  stamp "${image//\//-}" "$DEBIAN $packages $*"
}

build() { # IMAGE CONTEXT [OPTION...]
  local image=$1 context=$2; shift 2
  quietly "image-${image//[\/:]/-}" docker build -t "$image" "$@" "$context"
}

# One image holds every program of the control plane, tagged with each of the names that kubeadm asks for.
control_plane_images() {
  local context=$CACHE/image/control-plane name
  mkdir -p "$context"
  cp "$CACHE/bin/kube" "$CACHE/bin/etcd" "$CACHE/bin/coredns" "$CACHE/bin/pause" "$context/"
  cat >"$context/Dockerfile" <<'DOCKERFILE'
FROM weir-debian:kube
COPY kube etcd /usr/local/bin/
RUN cd /usr/local/bin && for n in kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubectl; do ln -s kube $n; done
DOCKERFILE
  build weir-control-plane "$context"
  printf 'FROM scratch\nCOPY pause /pause\nENTRYPOINT ["/pause"]\n' >"$context/pause.Dockerfile"
  build weir-pause "$context" -f "$context/pause.Dockerfile"
  printf 'FROM scratch\nCOPY coredns /coredns\nENTRYPOINT ["/coredns"]\n' >"$context/coredns.Dockerfile"
  build weir-coredns "$context" -f "$context/coredns.Dockerfile"
  for name in $(kubeadm config images list --kubernetes-version "$KUBERNETES" 2>/dev/null); do
    case $name in
      */pause:*) docker tag weir-pause "$name" ;;
      */coredns:*) docker tag weir-coredns "$name" ;;
      *) docker tag weir-control-plane "$name" ;;
    esac
    echo "$name"
  done
}

# node_image TAG: builds it unless nothing changed
node_image() {
  local context=$CACHE/image/node digest images
  digest="$(digest "$HACK/cluster/node") $(sha256sum "$CACHE/bin/"{kube,etcd,coredns,pause} | sha256sum | cut -c1-16)"
  docker image inspect "$1" >/dev/null 2>&1 && fresh node-image "$digest" && return
  debian_root weir-debian:kube iptables,nftables,conntrack
  debian_root weir-debian:node systemd,systemd-sysv,dbus,containerd,runc,containernetworking-plugins,iptables,nftables,conntrack,ebtables,ethtool,socat,iproute2,kmod,procps,python3,mount,util-linux
  step "control-plane images"
  images=$(control_plane_images)
  step "node image"
  mkdir -p "$context"
  cp "$HACK/cluster/node/"* "$CACHE/bin/kube" "$context/"
  cat >"$context/Dockerfile" <<DOCKERFILE
FROM weir-debian:node
COPY kube /usr/bin/kube
COPY runc-lean entrypoint /usr/local/bin/
COPY config.toml /etc/containerd/config.toml
COPY kubelet.service /etc/systemd/system/kubelet.service
RUN cd /usr/bin && for n in kubeadm kubelet kubectl; do ln -s kube \$n; done && mkdir -p /kind/manifests \
 && printf %s $KUBERNETES >/kind/version && systemctl enable kubelet containerd && systemctl set-default multi-user.target \
 && systemctl mask systemd-udevd systemd-udev-trigger systemd-logind getty.target console-getty remote-fs.target
ENV container=docker
STOPSIGNAL SIGRTMIN+3
DOCKERFILE
  build weir-node-empty "$context"
  preload "$1" $images
  stamp node-image "$digest"
}

preload() { # TAG IMAGE...: runs the empty node's containerd once to take the images in, and commits the result
  local tag=$1 stage=$CLUSTER-node-stage; shift
  docker rm -f "$stage" >/dev/null 2>&1 || true
  docker run -d --name "$stage" --privileged --cgroupns=private --tmpfs /run --tmpfs /tmp \
    --entrypoint containerd weir-node-empty >/dev/null
  wait_until 30 "containerd in $stage answers" docker exec "$stage" ctr version
  docker save "$@" | quietly preload docker exec -i "$stage" ctr -n k8s.io images import --no-unpack -
  docker stop "$stage" >/dev/null
  docker commit -c 'ENTRYPOINT ["/usr/local/bin/entrypoint","/sbin/init"]' -c 'CMD []' "$stage" "$tag" >/dev/null
  docker rm -f "$stage" >/dev/null
}
