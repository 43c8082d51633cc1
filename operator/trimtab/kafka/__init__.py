"""Kafka clients: metadata and offsets of a cluster, and a producer that measures itself.

Only this package imports confluent_kafka.
"""
