"""Clients of Kafka: metadata and offsets of a cluster, and a producer that is measured.

The only package that imports confluent_kafka.
"""
