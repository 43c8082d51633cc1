"""The job as it ran: counts the letters of each click. Compare with script.yaml."""

import argparse

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

parser = argparse.ArgumentParser()
parser.add_argument("--servers", required=True)
arguments = parser.parse_args()

spark = SparkSession.builder.appName("clicks").getOrCreate()
clicks = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", arguments.servers)
    .option("subscribe", "clicks")
    .option("startingOffsets", "earliest")
    .load()
)


@F.udf("int")
def letters(value: bytes) -> int:
    return sum(map(str.isalpha, value.decode()))


counted = clicks.select(
    "key", F.to_json(F.struct(letters("value").alias("letters"))).alias("value")
)
query = (
    counted.writeStream.format("kafka")
    .option("kafka.bootstrap.servers", arguments.servers)
    .option("topic", "clicks-out")
    .option("checkpointLocation", "s3a://jobs/clicks")
    .trigger(processingTime="10 seconds")
    .start()
)
query.awaitTermination()
