"""The table of nasty scenarios, by what makes them nasty."""

from __future__ import annotations

from typing import Any

from simulation.nasty import ROUGH, SLOW12, STEP, WHITE12, WHITE15, Nasty, case, squares

SPIKES = {"spikes": {"base": 800, "peak": 3200, "every_s": 900, "width_s": 300}}
COSINE = {"cosine": {"mean": 2200, "amplitude": 1800, "period_s": 2700}}
WALK = {"walk": {"start": 1800, "step": 500, "low": 600, "high": 4200, "every_s": 120}}

NOISE = (
    Nasty("white-12-step", case(load=STEP, batch=WHITE12), 150, seeds=(1, 2, 3)),
    Nasty("white-15-step", case(load=STEP, batch=WHITE15), 200, seeds=(1, 2, 3)),
    Nasty("ar-12-step", case(load=STEP, batch=SLOW12), 260, seeds=(1, 2, 3)),
    Nasty("white-15-cosine", case(load=COSINE, batch=WHITE15), 150, seeds=(1, 2, 3)),
    Nasty("ar-12-cosine", case(load=COSINE, batch=SLOW12), 200, seeds=(1, 2, 3)),
    Nasty("white-15-spikes", case(load=SPIKES, batch=WHITE15), 600, seeds=(1, 2)),
    Nasty("ar-12-walk", case(load=WALK, batch=SLOW12), 300, seeds=(1, 2, 3)),
    Nasty("rough-step", case(load=STEP, batch=ROUGH), 450, seeds=(1, 2, 3)),
    Nasty("ar-12-skew", case(load=[[0, 800], [606, 3200]], batch=SLOW12, plant={"skew": 0.04}),
          300, seeds=(1, 2)),
    Nasty("ar-12-free", case(load=STEP, batch=SLOW12, pinned=False), 300, seeds=(1, 2)),
)  # fmt: skip

SLOW_START = {"start_s": 100}
STARTS = (
    Nasty("start-100", case(load=[[0, 800], [303, 3500]], start={"executors": 2},
          plant={"change": SLOW_START}), 450),
    Nasty("start-90-staggered", case(load=STEP, plant={
          "change": {"start_s": 90, "stagger_s": 10}}), 900),
    Nasty("start-300", case(load=[[0, 800], [303, 3500]], plant={"change": {"start_s": 300}}),
          900),
    Nasty("start-100-cosine", case(load=COSINE, plant={"change": SLOW_START}), 500),
    Nasty("start-100-rough", case(load=STEP, batch=ROUGH, plant={"change": SLOW_START}), 900),
    Nasty("start-100-unjoined", case(load=[[0, 800], [303, 3500]], plant={
          "change": {"start_s": 100, "joins_batch": False}}), 600),
    Nasty("start-60-beside-batches", case(load=STEP, plant={
          "change": {"start_s": 60, "stagger_s": 5, "starting_cost": 0.05}}), 850,
          seeds=(1, 2, 3)),
    Nasty("restarts-vary", case(load=STEP, pinned=False, batch=SLOW12, plant={
          "change": {"query_restart_s": 10, "restart_noise": 0.5}}), 400),
    Nasty("no-node-for-30-min", case(load=[[0, 800], [303, 3500]], faults=[
          {"at": 200, "kind": "pods_pending", "for_s": 1800}]), 2700, stuck_s=900),
    Nasty("quota-of-8", case(load=[[0, 800], [303, 2800]], plant={
          "cluster": {"executors_max": 8, "refuses": True}}), 250, most=14),
    Nasty("node-for-8", case(load=[[0, 800], [303, 2800]], plant={
          "cluster": {"executors_max": 8}}), 400),
)  # fmt: skip


def service(**changes: Any) -> Any:
    """A pipeline that waits for a service, 40 ms a call."""
    fast = {"capacity": {1: 2000, 26: 52000}, "remote": {"latency_s": 0.04}}
    start = {"executors": 4, "trigger": 5, "maxInFlight": 8, "maxOffsetsPerTrigger": 200_000}
    return case(plant=fast, **{"load": [[0, 600]], "start": start} | changes)


SLOW_40_MIN = {"at": 900, "kind": "remote_slow", "factor": 2.5, "for_s": 2400}
WORK_40_MIN = {"at": 900, "kind": "work_slow", "factor": 2.5, "for_s": 2400}
STALE = (
    Nasty("service-slow-40-min", service(faults=[SLOW_40_MIN]), 250, seeds=(1, 2)),
    Nasty("service-slow-then-more", service(faults=[SLOW_40_MIN], load=[[0, 600], [4203, 2400]]),
          350, seeds=(1, 2)),
    Nasty("service-slow-at-start", service(faults=[SLOW_40_MIN | {"at": 0}],
          load=[[0, 600], [3003, 1800]]), 350, seeds=(1, 2)),
    Nasty("service-slow-for-good", service(faults=[SLOW_40_MIN | {"for_s": 9999}]), 250),
    # batches grow while they are slow, so that those of a known size are few
    Nasty("work-slow-rough", case(load=[[0, 1900]], batch=ROUGH, start={"executors": 8}, faults=[
          {"at": 1203, "kind": "work_slow", "factor": 2.5, "for_s": 1500}]), 450, seeds=(1, 7)),
    Nasty("service-slow-rough", service(faults=[SLOW_40_MIN], batch=ROUGH), 500, seeds=(1, 2)),
    Nasty("work-slow-40-min", case(load=[[0, 1800]], faults=[WORK_40_MIN],
          start={"executors": 6}), 200, cores=3.4),
    Nasty("work-slow-then-more", case(load=[[0, 1800], [4203, 3600]], faults=[WORK_40_MIN],
          start={"executors": 6}), 350, cores=2.7),
    Nasty("work-slow-at-start", case(load=[[0, 1500]], faults=[WORK_40_MIN | {"at": 0}],
          start={"executors": 4}), 250, cores=3.1),
    Nasty("drift", case(load=[[0, 1200]], faults=[
          {"at": at, "kind": "work_slow", "factor": f, "for_s": 600} for at, f in
          ((600, 1.2), (1200, 1.5), (1800, 1.8), (2400, 2.2), (3000, 1.7), (3600, 1.3))],
          start={"executors": 4}), 250, cores=2.2),
    Nasty("drift-then-more", case(load=[[0, 1200], [4503, 2400]], faults=[
          {"at": 603 + 150 * i, "kind": "work_slow", "factor": 1 + min(i, 24 - i) / 10,
           "for_s": 150} for i in range(1, 24)], start={"executors": 4}), 250, cores=2.3),
    Nasty("small-batches-only", service(load=[[0, 20], [1203, 1600]], pinned=False,
          start={"executors": 1, "trigger": 1, "maxOffsetsPerTrigger": 20_000}), 250),
)  # fmt: skip

KNEE = {"knee_records": 4000, "overload": 0.6}
STEEP = {"knee_records": 2000, "overload": 1.5}
OVERLOAD = (
    Nasty("past-the-knee", case(load=[[0, 1500], [603, 2800]], batch=KNEE, pinned=False,
          start={"executors": 6}), 300, cores=2.0),
    Nasty("backlog-past-the-knee", case(load=[[0, 1500]], batch=KNEE, pinned=False,
          start={"executors": 6, "backlog": 400_000}), 900, cores=2.0, stuck_s=150),
    Nasty("outage-past-the-knee", case(load=[[0, 1500]], batch=KNEE, pinned=False, faults=[
          {"at": 900, "kind": "driver_lost", "back_after_s": 240}], start={"executors": 6}),
          800, cores=2.0),
    # catch-up batches as large as the limit take so long that ever more is waiting
    Nasty("overload-feeds-itself", case(load=[[0, 1500], [603, 2800]], batch=STEEP, pinned=False,
          start={"executors": 6}), 450, cores=1.6),
    Nasty("overload-feeds-itself-with-a-trigger", case(load=[[0, 1500], [603, 2800]],
          batch=STEEP | {"overload": 3}, tuning={"pinned": {"trigger": 5}}, pinned=False,
          start={"executors": 6}), 450, cores=1.7),
    Nasty("overload-after-an-outage", case(load=[[0, 1500]], batch=STEEP, pinned=False, faults=[
          {"at": 900, "kind": "driver_lost", "back_after_s": 240}], start={"executors": 6}),
          800, cores=2.0),
    # the first batch, planned before anything is known, takes 1,769 s
    Nasty("overload-from-cold", case(load=[[0, 1500]], batch=STEEP, pinned=False,
          start={"executors": 6, "backlog": 400_000}), 3600, cores=2.7),
    Nasty("poison-batch", case(load=[[0, 1800]], faults=[
          {"at": 900, "kind": "gc_pause", "for_s": 3600}], start={"executors": 6}), 4500, cores=3,
          stuck_s=850),
    # 6.5 million records wait when the batch ends; 26 executors, the most, would work them off in
    # 1,150 s, and 900 s are left: so all of it is violated, and the most is right in the end
    Nasty("pauses", case(load=[[0, 1800]], faults=[
          {"at": at, "kind": "gc_pause", "for_s": 40} for at in range(600, 5000, 700)],
          start={"executors": 6}), 600, cores=1.7),
    Nasty("driver-lost-often", case(load=[[0, 1800]], faults=[
          {"at": at, "kind": "driver_lost"} for at in range(600, 5000, 1100)],
          start={"executors": 6}), 700, cores=1.9),
)  # fmt: skip

FALLS = {1: 500, 2: 960, 4: 1750, 6: 2400, 9: 2500, 12: 2100, 26: 900}
"""Records/s by executors: beyond nine, more of them carry less."""
FLAT = {1: 500, 4: 1900, 6: 2400, 26: 2450}
FALLING = (
    Nasty("falls-from-26", case(load=[[0, 1800]], plant={"capacity": FALLS},
          start={"executors": 26}), 400, cores=1.5, stuck_s=20),
    Nasty("falls-step", case(load=[[0, 600], [603, 1800]], plant={"capacity": FALLS}), 250,
          cores=2.0),
    # more executors carry less there, so that a load at the bound is told and nothing is added
    Nasty("falls-near-best", case(load=[[0, 600], [603, 2000]], plant={"capacity": FALLS}), 500,
          cores=2.5, stuck_s=4500),
    Nasty("falls-infeasible", case(load=[[0, 600], [603, 3000]], plant={"capacity": FALLS}),
          4800, cores=1.6),
    Nasty("flat-infeasible", case(load=[[0, 600], [603, 3000]], plant={"capacity": FLAT}), 4800,
          cores=0.6),
)  # fmt: skip

PEAK = {1: 500, 2: 960, 4: 1750, 6: 2400, 8: 2000, 12: 1000, 26: 700}
BURST = [[0, 600], [603, 4500], [780, 2000]]


def limited(**changes: Any) -> Any:
    """A pipeline whose batch limit is pinned, so that a backlog makes batches of half a minute."""
    start = {"maxOffsetsPerTrigger": 30_000} | changes.pop("start", {})
    pins = {"trigger": 5, "maxOffsetsPerTrigger": 30_000}
    return case(start=start, tuning={"pinned": pins}, **changes)


SEEDS = (1, 2, 3, 4)
# After the burst the best number carries the load, but works off the backlog slowly.
AFTER_A_BURST = (
    Nasty("peak-burst", limited(load=BURST, plant={"capacity": PEAK}), 4400, cores=1.5,
          reversals=8, stuck_s=3000, seeds=SEEDS),
    Nasty("falls-burst", limited(load=BURST, plant={"capacity": FALLS}), 3300, cores=1.8,
          reversals=8, stuck_s=3000, seeds=SEEDS),
    Nasty("falls-infeasible-from-26", limited(load=[[0, 3000]], plant={"capacity": FALLS},
          start={"executors": 26}), 5400, cores=0.35, reversals=12, seeds=SEEDS),
    Nasty("flat-infeasible-from-26", limited(load=[[0, 3000]], plant={"capacity": FLAT},
          start={"executors": 26}), 5400, cores=0.5, seeds=SEEDS),
    Nasty("flat-infeasible-later", limited(load=[[0, 600], [603, 2250], [1803, 3000]],
          plant={"capacity": FLAT}), 4100, cores=0.6, stuck_s=700, seeds=SEEDS),
)  # fmt: skip

RESONANCE = (
    Nasty("squares-60", case(load=squares(60)), 200, cores=2.2, reversals=12),
    Nasty("squares-90", case(load=squares(90)), 200, cores=2.2, reversals=12),
    Nasty("squares-120", case(load=squares(120)), 200, cores=2.2, reversals=12),
    Nasty("squares-120-ar", case(load=squares(120), batch=SLOW12), 300, cores=2.4, reversals=14),
    Nasty("sawtooth", case(load=SPIKES | {"spikes": {
          "base": 1000, "peak": 3600, "every_s": 200, "width_s": 60}}), 300, cores=2.8),
)  # fmt: skip

FIRST = (
    Nasty("long-trigger", case(load=[[0, 350]], pinned=False, start={
          "executors": 1, "trigger": 10, "maxOffsetsPerTrigger": 200_000}), 70, most=1),
    # two batches of 10 s are left out after the start, and two must agree: 60 s
    Nasty("low-limit", case(load=[[0, 350]], pinned=False, start={
          "executors": 1, "trigger": 10, "maxOffsetsPerTrigger": 2000}), 120, most=1),
    Nasty("trigger-0.7", case(load=[[0, 200]], pinned=False, batch={"fixed_s": 0.15}, goal={
          "latency": {"percentile": 95, "target": 1.2}}), 200),
    Nasty("trigger-0.3", case(load=[[0, 100]], pinned=False, batch={"fixed_s": 0.08}, goal={
          "latency": {"percentile": 95, "target": 0.55}}), 200),
    Nasty("executors-away", case(load=[[0, 1800]], faults=[
          {"at": 900, "kind": "executor_lost", "count": 4, "back_after_s": 900}],
          start={"executors": 6}), 1300),
    # two executors carry 967/s for 900 s, whatever is asked for
)  # fmt: skip

CASES = (*NOISE, *STARTS, *STALE, *OVERLOAD, *FALLING, *AFTER_A_BURST, *RESONANCE, *FIRST)
