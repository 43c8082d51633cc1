"""The driver runtime: builds one pipeline's query, runs it, applies knobs, exports what it sees.

Started as `python -m trimtab.job`; the only package that imports pyspark.
"""
