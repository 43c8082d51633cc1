"""Observe, decide, apply: in one direction, and through ports only.

- `observe`: cached objects, a constant number of queries, one Observation per pipeline;
- `decide`: turns an Observation into an Outcome, without I/O;
- `apply`: the writes, in an order that is safe against crashes;
- `status`: what users see;
- `pipeline`, `kafka`: one custom resource in one tick;
- `loop`: one tick over all of them.
"""
