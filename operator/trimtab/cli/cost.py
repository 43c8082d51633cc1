"""What a pipeline has reserved and reserves, in words."""

from __future__ import annotations

from trimtab.api.v1alpha1.status import StreamPipelineStatus


def cost(status: StreamPipelineStatus) -> str:
    """So far, beside a static peak; now; and for one executor."""
    found = status.cost
    if found is None:
        return "nothing yet"
    words = [
        f"{found.executor_hours} executor-hours, {found.core_hours} core-hours,"
        f" {found.gib_hours} GiB-hours since {found.since}"
    ]
    if found.static_core_hours and found.static_executors:
        words.append(
            _beside(float(found.core_hours), found.static_core_hours, found.static_executors)
        )
    words += [f"now {found.now}", f"one executor is {found.step}"]
    return "; ".join([*words, *([found.money] if found.money else [])])


def _beside(spent: float, static: str, executors: int) -> str:
    saved = 1 - spent / float(static) if float(static) else 0.0
    share = f"{saved:.0%} less" if saved >= 0 else f"{-saved:.0%} more"
    return f"{share} than the {static} core-hours of a static peak ({executors} executors)"
