"""Observe, decide, apply: over ports only, in one direction.

- `observe`: the cached objects, a constant number of queries, one Observation of each pipeline;
- `decide`: from an Observation to an Outcome, without I/O;
- `apply`: the writes, in an order that a crash cannot harm;
- `status`: what a person is told;
- `pipeline`, `kafka`: one custom resource in one tick;
- `loop`: one tick over everything.
"""
