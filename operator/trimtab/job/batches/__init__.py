"""The batches: their progress, delivery ledger and timing."""
