"""Names the classes that a driver or an executor loads, for the archive that the JVM starts from.

    train.py LIST       run while the image is built

One short query in local mode writes down what it loads; the classes that only a cluster or a
broker would make it load are named by their packages.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 -- its usual name
from pyspark.sql.types import StringType

JARS = Path(pyspark.__file__).parent / "jars"
RUN_S, TRIES = 20, 9
"""Seconds that the query runs; again and again on a machine so busy that it has run no batch."""
POD = """{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "driver", "uid": "1"},
  "spec": {"containers": [{"name": "driver", "image": "x", "env": [{"name": "A", "value": "b"}]}]},
  "status": {"phase": "Running", "containerStatuses": [{"name": "driver", "ready": true}]}}"""
UNSEEN = (
    "io/fabric8/kubernetes/client/",
    "org/apache/kafka/clients/",
    "org/apache/kafka/common/",
    "org/apache/spark/deploy/k8s/",
    "org/apache/spark/scheduler/cluster/k8s/",
    "org/apache/spark/sql/kafka010/",
)
"""Packages that the query below has no use for, as it runs without a cluster and a broker."""


def run_a_query(classes: Path) -> None:
    """Some batches with what trimtab.job uses: SQL, Python, observe, foreachBatch."""
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.defaultJavaOptions", f"-XX:DumpLoadedClassList={classes}")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.execution.pythonUDF.arrow.enabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")

    def write(frame: DataFrame, _batch: int) -> None:
        frame.write.format("noop").mode("append").save()

    text = F.udf(str, StringType())
    stream = session.readStream.format("rate").option("rowsPerSecond", 50).load()
    stream.createOrReplaceTempView("source")
    selected = session.sql("SELECT CAST(value AS STRING) AS key, value FROM source")
    frame = selected.select("key", text("value").alias("value"))
    frame = frame.observe("counted", F.count(F.lit(1)).alias("records"))
    query = frame.writeStream.trigger(processingTime="200 milliseconds").foreachBatch(write).start()
    for _ in range(TRIES):
        query.awaitTermination(RUN_S)  # raises what the query died of
        if query.lastProgress:
            break
    else:
        raise SystemExit(f"the training query finished no batch in {TRIES * RUN_S} s")
    query.stop()
    ask_kubernetes(session)
    session.stop()


def ask_kubernetes(session: SparkSession) -> None:
    """One request by the client that Spark asks for executors with; nobody answers it."""
    jvm = session.sparkContext._jvm  # as trimtab.job does: Spark has no Python API for it
    client = jvm.io.fabric8.kubernetes.client
    nowhere = client.ConfigBuilder().withMasterUrl("https://127.0.0.1:1")
    config = nowhere.withRequestRetryBackoffLimit(0).build()
    asking = client.KubernetesClientBuilder().withConfig(config).build()
    client.utils.Serialization.unmarshal(POD)
    try:
        asking.pods().inNamespace("default").withName("driver").get()
    except Py4JJavaError:
        asking.close()
    else:
        raise SystemExit("who answers on port 1?")


def unseen(classes: Path) -> list[str]:
    """The classes of the packages above that are not in the list."""
    seen = set(classes.read_text().splitlines())
    names = (
        entry.removesuffix(".class")
        for jar in sorted(JARS.glob("*.jar"))
        for entry in zipfile.ZipFile(jar).namelist()
        if entry.endswith(".class") and entry.startswith(UNSEEN)
    )
    return [name for name in names if name not in seen]


def main() -> None:
    """Write the list."""
    classes = Path(sys.argv[1])
    run_a_query(classes)
    with classes.open("a") as file:
        file.writelines(f"{name}\n" for name in unseen(classes))


if __name__ == "__main__":
    main()
