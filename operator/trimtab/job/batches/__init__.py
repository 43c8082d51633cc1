"""What is known of the batches: progress, ledger, times."""
