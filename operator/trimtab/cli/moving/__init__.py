"""Reads what a Spark job is today, for `trimtab import`."""
