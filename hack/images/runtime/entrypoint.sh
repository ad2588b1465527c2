#!/bin/bash
# `executor` starts a Spark executor from the variables that Spark's driver sets; anything else is run as it is;
# a path to a fragment's JSON runs that fragment.
set -euo pipefail
case ${1:-} in
  executor)
    mapfile -t options < <(env | grep -E '^SPARK_JAVA_OPT_[0-9]+=' | sort -t_ -k4 -n | cut -d= -f2-)
    CLASSPATH=$(IFS=: && jars=("$SPARK_HOME"/jars/*.jar) && echo "${jars[*]}") # in the order of the drivers' archive
    export CLASSPATH
    unset SPARK_HOME # else Spark puts its pyspark.zip first on the workers' path: they would compile what they import
    exec java "${options[@]}" "-Xmx$SPARK_EXECUTOR_MEMORY" -XX:SharedArchiveFile=/opt/venv/weir-classes.jsa \
      org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
      --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
      --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
      --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME" ;;
  *.json) exec python -m weir_runtime "$@" ;;
  *) exec "$@" ;;
esac
