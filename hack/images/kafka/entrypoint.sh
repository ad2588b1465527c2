#!/bin/bash
# `broker` formats the log folder if it is empty and serves on KAFKA_HOST:9092; anything else is a Kafka tool's
# class with its arguments (org.apache.kafka.tools.ConsoleConsumer --bootstrap-server ...).
# One node is broker and controller. Of several, each has its KAFKA_NODE, its KAFKA_RACK, its KAFKA_ROLES, and all
# have the same KAFKA_VOTERS (NODE@HOST:9093,...), which name those with the role `controller`.
set -euo pipefail
run() { exec java "-Xmx${KAFKA_HEAP:-384m}" -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp '/opt/kafka/*' "$@"; }
[[ ${1:-broker} == broker ]] || run "$@"
roles=${KAFKA_ROLES:-broker,controller} listeners=PLAINTEXT://:9092 format=()
[[ $roles != *controller* ]] || listeners+=,CONTROLLER://:9093
if [[ -n ${KAFKA_VOTERS:-} ]]; then
  quorum=controller.quorum.voters=$KAFKA_VOTERS
else
  quorum=controller.quorum.bootstrap.servers=localhost:9093 format=(--standalone)
fi
cat >/tmp/server.properties <<PROPERTIES
process.roles=$roles
node.id=${KAFKA_NODE:-1}
${KAFKA_RACK:+broker.rack=$KAFKA_RACK}
$quorum
listeners=$listeners
advertised.listeners=PLAINTEXT://${KAFKA_HOST:-localhost}:9092
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=${KAFKA_DATA:-/data}
num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=${KAFKA_CREATE_TOPICS:-true}
PROPERTIES
if [[ ! -f ${KAFKA_DATA:-/data}/meta.properties ]]; then
  told=("${format[@]}" --cluster-id weir-test-0000000000000 --config /tmp/server.properties)
  (run kafka.tools.StorageTool format "${told[@]}")
fi
run kafka.Kafka /tmp/server.properties
