"""Gather, decide, apply, report: over ports only, in one direction.

- `world`: what the watches have told, newest version of each object;
- `gather`: a constant number of PromQL queries for all pipelines, as `Signals`;
- `pipeline`, `kafka`: one custom resource's children and status;
- `document`: a pipeline's tuning document, read back and written;
- `conditions`, `report`: what a person is told;
- `loop`: one tick over everything.
"""
