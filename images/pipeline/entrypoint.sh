#!/bin/bash
# First argument:
#   executor   one Spark executor, set up by the variables that Spark's Kubernetes scheduler gives
#   driver     trimtab.job, with the other arguments
#   check      whether the image fits (docs/images.md), with modules to import
#   anything else is run as a command
set -eu

# Hadoop asks for the name of the user that it runs as, and fails if there is none. The image names
# its own user; where the cluster chooses another one, as OpenShift does, libnss_wrapper answers.
if ! getent passwd "$(id -u)" > /dev/null; then
  scratch="${TMPDIR:-/tmp}"
  [ "${HOME:-/}" != / ] || export HOME="$scratch"
  export NSS_WRAPPER_PASSWD="$scratch/passwd" NSS_WRAPPER_GROUP="$scratch/group"
  echo "trimtab:x:$(id -u):$(id -g)::$HOME:/bin/false" > "$NSS_WRAPPER_PASSWD"
  echo "trimtab:x:$(id -g):" > "$NSS_WRAPPER_GROUP"
  export LD_PRELOAD=libnss_wrapper.so
fi

# What an init container has installed comes behind what the image itself puts on the path.
if [ -n "${TRIMTAB_PACKAGES:-}" ]; then
  export PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}$TRIMTAB_PACKAGES"
fi

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
  check)
    shift
    exec python -m trimtab.job.image_check "$@"
    ;;
  *)
    exec "$@"
    ;;
esac
