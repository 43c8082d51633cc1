"""The driver: builds and runs one pipeline's query, applies its knobs, exports its metrics.

Started as `python -m trimtab.job`.
"""
