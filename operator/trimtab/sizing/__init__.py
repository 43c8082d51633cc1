"""The sizing formulas of the Storm+Trident tuning notes (docs/seeds.md), for Kafka and Spark.

Pure arithmetic on plain numbers; units are in the names.
"""
