# shellcheck shell=bash
# Every version that hack/ pins. Kubernetes and etcd are pinned by the go.mod beside their main.go.
# shellcheck disable=SC2034
KUBERNETES=v1.34.4
COREDNS=v1.14.4
KIND=v0.33.0
HELM=v3.19.0
KUBECONFORM=v0.7.0
KWOK=v0.7.0
VERSITYGW=v1.8.0
CERT_MANAGER=v1.18.2
OLM_API=v0.36.0
DEBIAN=bookworm
