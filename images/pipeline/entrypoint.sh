#!/bin/bash
# First argument:
#   executor   one Spark executor, set up by the variables that Spark's Kubernetes scheduler gives
#   driver     trimtab.job, with the other arguments
#   anything else is run as a command
set -eu

case "${1:-}" in
  executor)
    # SPARK_JAVA_OPT_0, _1, ... each hold one option of the JVM, blanks included.
    options=()
    index=0
    while name="SPARK_JAVA_OPT_${index}"; [ -n "${!name+set}" ]; do
      options+=("${!name}")
      index=$((index + 1))
    done
    exec "${JAVA_HOME:+${JAVA_HOME}/bin/}java" \
      "${options[@]}" \
      "-Xms${SPARK_EXECUTOR_MEMORY}" "-Xmx${SPARK_EXECUTOR_MEMORY}" \
      -XX:SharedArchiveFile=/opt/spark/classes.jsa \
      -cp "${SPARK_CLASSPATH:+${SPARK_CLASSPATH}:}$(< /opt/spark/classpath):/opt/spark/jars/*" \
      org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
      --driver-url "${SPARK_DRIVER_URL}" \
      --executor-id "${SPARK_EXECUTOR_ID}" \
      --cores "${SPARK_EXECUTOR_CORES}" \
      --app-id "${SPARK_APPLICATION_ID}" \
      --hostname "${SPARK_EXECUTOR_POD_IP}" \
      --resourceProfileId "${SPARK_RESOURCE_PROFILE_ID}" \
      --podName "${SPARK_EXECUTOR_POD_NAME}"
    ;;
  driver)
    shift
    exec python -m trimtab.job "$@"
    ;;
  *)
    exec "$@"
    ;;
esac
