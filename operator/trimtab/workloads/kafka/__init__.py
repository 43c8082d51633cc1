"""What a KafkaCluster is made of."""
