"""The sizing formulas of the Storm+Trident tuning notes (seed 000), for Kafka and Spark.

Pure arithmetic on plain numbers; units stand in the names.
"""
