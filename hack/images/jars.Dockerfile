# Jars from Maven Central, by name and version: an intermediate image for runtime and kafka.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends maven default-jre-headless >/dev/null \
 && rm -rf /var/lib/apt/lists/*
COPY runtime/pom.xml /runtime/pom.xml
RUN mvn -q -B -f /runtime/pom.xml dependency:copy-dependencies -DoutputDirectory=/jars/runtime
COPY kafka/pom.xml /kafka/pom.xml
RUN mvn -q -B -f /kafka/pom.xml dependency:copy-dependencies -DoutputDirectory=/jars/kafka
