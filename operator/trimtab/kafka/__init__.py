"""Kafka's clients: what is asked of a cluster, and a producer that is measured.

The only package that imports confluent_kafka.
"""
