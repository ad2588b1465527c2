# shellcheck shell=bash
# Pod network without an image: on each node a point-to-point link a pod, and routes to the other nodes' pods.
# It enforces no NetworkPolicy.

pod_network() {
  local nodes name cidr other other_cidr other_address
  nodes=$(kubectl get nodes -o jsonpath='{range .items[*]}{.metadata.name} {.spec.podCIDR} {.status.addresses[?(@.type=="InternalIP")].address}{"\n"}{end}')
  while read -r name cidr _; do
    docker exec -i "$name" sh -c 'mkdir -p /etc/cni/net.d && cat >/etc/cni/net.d/10-weir.conflist' <<JSON
{"cniVersion": "0.4.0", "name": "weir", "plugins": [
  {"type": "ptp", "ipMasq": false,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "$cidr"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
JSON
    while read -r other other_cidr other_address; do
      [[ $other == "$name" ]] || docker exec "$name" ip route replace "$other_cidr" via "$other_address" </dev/null
    done <<<"$nodes"
  done <<<"$nodes"
}

# CoreDNS must not forward to Docker's resolver: it is a loopback address, and CoreDNS would stop at the loop
names_of_the_cluster_only() {
  kubectl -n kube-system get configmap coredns -o json | python3 -c "
import json, re, sys
document = json.load(sys.stdin)
corefile = re.sub(r'\n\s+loop', '', document['data']['Corefile'])
document['data']['Corefile'] = re.sub(r'\n\s+forward \. [^{]*\{[^}]*\}', '', corefile)
print(json.dumps(document))" | kubectl replace -f - >/dev/null
  kubectl -n kube-system rollout restart deployment/coredns >/dev/null
}
