"""What somebody may try through `sparkConf` and `env`, and which door refuses it.

docs/security.md shows the same table. The doors are tried in tests/unit/test_bypasses.py and
tests/apiserver/test_bypasses.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Door(StrEnum):
    """Where a spec is checked, in this order."""

    CRD = "CRD"
    MODEL = "model"
    DRIVER = "driver"


ALL = tuple(Door)


@dataclass(frozen=True)
class Bypass:
    """One attempt: what for, the names and values in the spec, and the doors that refuse it."""

    to: str
    conf: dict[str, str] = field(default_factory=dict)
    env: tuple[tuple[str, str], ...] = ()
    doors: tuple[Door, ...] = ALL

    @property
    def spec(self) -> dict[str, Any]:
        """What is added to the spec of a pipeline."""
        env = [{"name": name, "value": value} for name, value in self.env]
        return {"sparkConf": self.conf, "env": env}

    @property
    def row(self) -> str:
        """Its row in docs/security.md."""
        pairs = (*self.conf.items(), *self.env)
        written = (f"`{k if k and k == k.strip() else repr(k)}: {v}`" for k, v in pairs)
        return f"| {self.to} | {', '.join(written)} | {', '.join(self.doors)} |"


def conf(to: str, key: str, value: str) -> Bypass:
    return Bypass(to, conf={key: value})


def env(to: str, name: str, value: str) -> Bypass:
    return Bypass(to, env=((name, value),))


K8S = "spark.kubernetes"
HOST = f"{K8S}.executor.volumes.hostPath.root.mount.path"

BYPASSES = (
    conf("mount the node's disk", HOST, "/host"),
    conf("mount a Secret", f"{K8S}.executor.secrets.root-token", "/secret"),
    conf("read a Secret into a variable", f"{K8S}.executor.secretKeyRef.PASSWORD", "db:password"),
    conf("replace the pod template", f"{K8S}.executor.podTemplateFile", "/etc/trimtab/modules/p"),
    conf("another service account", f"{K8S}.authenticate.executor.serviceAccountName", "admin"),
    conf("another image", f"{K8S}.executor.container.image", "example.com/other:1"),
    conf("another namespace", f"{K8S}.namespace", "kube-system"),
    conf("another scheduler", f"{K8S}.scheduler.name", "other"),
    conf("run elsewhere", "spark.master", "spark://example.com:7077"),
    conf("run elsewhere, through Connect", "spark.remote", "sc://example.com"),
    conf("run elsewhere, through Connect", "spark.api.mode", "connect"),
    conf("submit to a cluster", "spark.submit.deployMode", "cluster"),
    conf("more executors than the limit", "spark.executor.instances", "500"),
    conf("more memory than the limit", "spark.executor.memory", "64g"),
    conf("more memory, by the old key", "spark.yarn.executor.memoryOverhead", "64g"),
    conf("more memory, off the heap", "spark.memory.offHeap.size", "64g"),
    conf("more memory, off the heap, by the old key", "spark.unsafe.offHeap", "true"),
    conf("a heap that Spark itself refuses", "spark.testing.reservedMemory", "0"),
    conf("half of the task slots", "spark.task.cpus", "2"),
    conf("a second controller", "spark.dynamicAllocation.enabled", "true"),
    conf("executors that are killed", "spark.excludeOnFailure.killExcludedExecutors", "true"),
    conf("tasks that run twice", "spark.speculation", "true"),
    conf("tasks that wait", "spark.locality.wait.node", "10m"),
    conf("a Java agent in the driver", "spark.driver.extraJavaOptions", "-javaagent:/tmp/a.jar"),
    conf("a Java agent in executors", "spark.executor.defaultJavaOptions", "-javaagent:/tmp/a.jar"),
    conf("classes before Spark's own", "spark.driver.extraClassPath", "/tmp/classes"),
    conf("classes first, by the old key", "spark.files.userClassPathFirst", "true"),
    conf("native code", "spark.executor.extraLibraryPath", "/tmp/lib"),
    conf("jars of the network", "spark.jars.packages", "com.example:other:1.0"),
    conf("jars of the network, for Hive", "spark.sql.hive.metastore.jars", "maven"),
    conf("files of the network", "spark.files", "https://example.com/file"),
    conf("archives of the network", "spark.archives", "https://example.com/env.tgz"),
    conf("classes from a server", "spark.repl.class.uri", "spark://example.com:1/classes"),
    conf("code beside the query", "spark.plugins", "com.example.Plugin"),
    conf("code beside the query", "spark.extraListeners", "com.example.Listener"),
    conf("code beside the query", "spark.sql.extensions", "com.example.Extensions"),
    conf("code beside the query", "spark.sql.streaming.streamingQueryListeners", "com.example.L"),
    conf("another Python", "spark.pyspark.python", "/tmp/python"),
    conf("another Python, by the SQL key", "spark.sql.execution.pyspark.python", "/tmp/python"),
    conf("another Python worker", "spark.python.worker.module", "other"),
    conf("variables past `env`", "spark.executorEnv.LD_PRELOAD", "/tmp/lib.so"),
    conf("an open web page", "spark.ui.enabled", "true"),
    conf("a log of all settings", "spark.eventLog.dir", "s3a://other/log"),
    conf("metrics to another host", "spark.metrics.conf.*.sink.graphite.host", "example.com"),
    conf("no authentication", "spark.authenticate", "false"),
    conf("a secret of their own", "spark.authenticate.secret", "known"),
    conf("a port that the network policy does not know", "spark.blockManager.port", "0"),
    conf("more ports than one", "spark.port.maxRetries", "16"),
    conf("no encryption", "spark.network.crypto.enabled", "false"),
    conf("secrets in the log", "spark.redaction.regex", "nothing"),
    conf("a Kafka of their own, with tokens", "spark.kafka.clusters.a.auth.bootstrap.servers", "k"),
    conf("another checkpoint", "spark.sql.streaming.checkpointLocation", "/tmp/other"),
    conf("a checkpoint that is not atomic", "spark.hadoop.fs.file.impl", "com.example.Files"),
    conf("no check of the state", "spark.sql.streaming.stateStore.stateSchemaCheck", "false"),
    conf("offsets in a format of their own", "spark.sql.streaming.offsetLog.formatVersion", "2"),
    conf("a stop in mid-batch", "spark.sql.streaming.stopTimeout", "1ms"),
    conf("the same in another case", "spark.Kubernetes.Namespace", "kube-system"),
    conf("the same in capitals", "SPARK.MASTER", "local"),
    conf("the same after a blank", " spark.plugins", "com.example.Plugin"),
    conf("the same before a blank", "spark.plugins ", "com.example.Plugin"),
    conf("the same with a dot at the end", "spark.sql.extensions.", "com.example.Extensions"),
    conf("the same with two dots", "spark..plugins", "com.example.Plugin"),
    conf("a key that holds its value", "spark.a=b --conf spark.plugins", "com.example.Plugin"),
    conf("Hadoop's key without a prefix", "fs.file.impl", "com.example.Files"),
    conf("a key that is none", "", "x"),
    conf("the environment, by reference", "spark.log.level", "${env:HOME}"),
    conf("a property, by reference", "spark.local.dir", "${system:user.home}"),
    conf("another key, by reference", "spark.log.level", "${spark.driver.host}"),
    env("all of the above", "PYSPARK_SUBMIT_ARGS", f"--conf {HOST}=/host pyspark-shell"),
    env("a directory of settings", "SPARK_CONF_DIR", "/etc/trimtab/modules"),
    env("run elsewhere", "SPARK_REMOTE", "sc://example.com"),
    env("another Python", "PYSPARK_PYTHON", "/tmp/python"),
    env("a gateway of their own", "_PYSPARK_DRIVER_CONN_INFO_PATH", "/tmp/gateway"),
    env("a secret of their own", "_SPARK_AUTH_SECRET", "known"),
    env("another tuning document", "TRIMTAB_TUNING_CONFIGMAP", "other-tuning"),
    env("a Java agent", "JAVA_TOOL_OPTIONS", "-javaagent:/tmp/a.jar"),
    env("a Java agent", "_JAVA_OPTIONS", "-javaagent:/tmp/a.jar"),
    env("a Java agent", "JDK_JAVA_OPTIONS", "-javaagent:/tmp/a.jar"),
    env("native code", "LD_PRELOAD", "/tmp/lib.so"),
    env("other modules", "PYTHONPATH", "/tmp/modules"),
    env("settings of Hadoop", "HADOOP_CONF_DIR", "/etc/trimtab/modules"),
    env("another API server", "KUBERNETES_SERVICE_HOST", "example.com"),
    env("a script before the driver", "BASH_ENV", "/etc/trimtab/modules/script"),
    env("SIGTERM for the JVM in mid-batch", "TINI_KILL_PROCESS_GROUP", "1"),
    env("other programs", "PATH", "/tmp/bin"),
    env("a name that is none", "A=B", "x"),
    env("a name that is none", "1ST", "x"),
    Bypass("one name twice", env=(("A", "1"), ("A", "2")), doors=(Door.CRD, Door.MODEL)),
)

ALLOWED = (
    {"spark.memory.fraction": "0.5", "spark.sql.session.timeZone": "Europe/Berlin"},
    {"spark.sql.shuffle.partitions": "8", "spark.sql.ansi.enabled": "false"},
    {
        "spark.hadoop.fs.s3a.endpoint": "https://s3.example.com",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.access.key": "key",
        "spark.hadoop.fs.s3a.secret.key": "secret",
        "spark.hadoop.fs.s3a.aws.credentials.provider": "com.example.Provider",
        "spark.hadoop.fs.s3a.bucket.my-bucket.endpoint.region": "eu-central-1",
        "spark.hadoop.fs.s3a.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    },
    {"spark.hadoop.fs.azure.account.key.me.blob.core.windows.net": "key"},
    {"spark.hadoop.fs.viewfs.mounttable.trimtab.link./base": "hdfs://namenode/base"},
    {"spark.sql.streaming.checkpointFileManagerClass": "com.example.Manager"},
    {"spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB": "300"},
    {"spark.sql.streaming.stateStore.providerClass": "com.example.Provider"},
    {"spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog"},
    {"spark.sql.catalog.lake.rest-url": "https://lake.example.com"},
    {"spark.serializer": "org.apache.spark.serializer.KryoSerializer"},
    {"spark.kryoserializer.buffer.max": "128m", "spark.network.timeout": "300s"},
    {"spark.sql.execution.arrow.maxRecordsPerBatch": "1000", "spark.python.worker.reuse": "true"},
    {"spark.cassandra.connection.host": "cassandra.shop.svc", "spark.log.level": "INFO"},
    {"spark.kerberos.access.hadoopFileSystems": "hdfs://namenode", "spark.task.maxFailures": "8"},
)
"""Settings that somebody needs, and no door refuses."""

ALLOWED_ENV = ("LOG_LEVEL", "AWS_REGION", "HTTPS_PROXY", "HOME", "MALLOC_ARENA_MAX", "sparky_1")
