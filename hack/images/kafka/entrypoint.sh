#!/bin/bash
# `broker` formats the log folder if it is empty and serves on KAFKA_HOST:9092; anything else is a Kafka tool's
# class with its arguments (org.apache.kafka.tools.ConsoleConsumer --bootstrap-server ...).
set -euo pipefail
run() { exec java "-Xmx${KAFKA_HEAP:-384m}" -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp '/opt/kafka/*' "$@"; }
[[ ${1:-broker} == broker ]] || run "$@"
cat >/tmp/server.properties <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
advertised.listeners=PLAINTEXT://${KAFKA_HOST:-localhost}:9092
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=${KAFKA_DATA:-/data}
num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=true
PROPERTIES
if [[ ! -f ${KAFKA_DATA:-/data}/meta.properties ]]; then
  (run kafka.tools.StorageTool format --standalone --cluster-id weir-test-0000000000000 --config /tmp/server.properties)
fi
run kafka.Kafka /tmp/server.properties
