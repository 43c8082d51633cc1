"""The control core: pure functions from a frozen snapshot and a memory to one decision.

    snapshot ─► load ─► regime ─► bottleneck ─► knobs ─► guards ─► decision
                                     trial ◄──────────────────────────┘

Nothing here reads a clock, a network or a global: `now_s` comes in the snapshot.
"""
