"""What the operator exports about each pipeline: what an alert or a dashboard asks first.

Names and units follow the conventions of Prometheus; what is not known is left out.
"""

from __future__ import annotations

from trimtab.api.figure import Figure, Type


def _of_pipeline(name: str, help_: str, **labels: str) -> Figure:
    own = {"pipeline_namespace": "", "pipeline": ""} | labels
    return Figure(f"pipeline_{name}", Type.GAUGE, help_, labels=own)


_KNOB = "the knob's name; seconds, bytes or numbers, and of a word its index"

PIPELINE: tuple[Figure, ...] = (
    _of_pipeline("goal_seconds", "Latency that the goal allows"),
    _of_pipeline("observed_seconds", "Latency that is held against the goal"),
    _of_pipeline("goal_records_per_second", "Rate that the goal asks for"),
    _of_pipeline("observed_records_per_second", "Input over a minute"),
    _of_pipeline("load_ratio", "Load of the last decision: 1 is exactly what the goal allows"),
    _of_pipeline(
        "load_bound_ratio", "Bounds in force, between which the load moves nothing",
        bound="lower, higher",
    ),
    _of_pipeline("lag_seconds", "Age of the oldest record that waits"),
    _of_pipeline("retention_deadline_seconds", "Until Kafka deletes the first unread record"),
    _of_pipeline(
        "regime_info", "1 for the regime of the load",
        regime="Unknown, Within, Over, Under, CatchingUp",
    ),
    _of_pipeline("mode_info", "1 for the mode in force", mode="Observe, Recommend, Auto"),
    _of_pipeline(
        "bottleneck_info", "1 for the bottleneck, while the load is above the bounds", kind=""
    ),
    _of_pipeline("condition", "1 if the condition is True, 0 if it is False", type=""),
    _of_pipeline(
        "reason_info", "1 for the reason of each condition that is not as it should be",
        type="", reason="",
    ),
    _of_pipeline("effective", "A knob in force in the driver", knob=_KNOB),
    _of_pipeline("recommended", "A knob as recommended, while a change waits for approval",
                 knob=_KNOB),
    _of_pipeline("recommendation_generation", "Generation of the recommendation that waits"),
    _of_pipeline("recommendation_load_ratio", "Load that it would have led to"),
    _of_pipeline(
        "policy_info", "1 for each value that a policy set", policy="", field="", value=""
    ),
    _of_pipeline("trial_open", "1 while a change is on trial, else 0"),
    _of_pipeline("executor_cores", "Task slots of the executors that the settings ask for"),
    _of_pipeline("executor_memory_bytes", "Memory of these executors"),
    _of_pipeline("executor_seconds", "Time of executors asked for so far, all together"),
    _of_pipeline("core_seconds", "CPU that the pods have reserved so far, in core-seconds"),
    _of_pipeline("memory_byte_seconds", "Memory that they have reserved so far"),
    _of_pipeline("static_core_seconds", "The same, had the executors of the peak run all the time"),
    _of_pipeline("cost", "What they have cost so far, in the currency of the chart's prices"),
    _of_pipeline("cost_per_hour", "What they cost now"),
    _of_pipeline("advice_given", "Recommendations so far"),
    _of_pipeline("advice_asked", "Checks of standing recommendations so far"),
    _of_pipeline(
        "advice_held", "Checks in which the goal was held",
        by="advised: it would have been, with what was recommended; run: as it ran",
    ),
)  # fmt: skip
