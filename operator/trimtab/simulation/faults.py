"""What happens to the plant: executors and drivers are lost, pods find no node, work slows down."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from trimtab.simulation.scenario import Fault

if TYPE_CHECKING:
    from trimtab.simulation.plant import Plant

PACES = {"remote_slow": "slow", "work_slow": "pace"}
"""The attribute of the plant that a slowness sets."""


def strike(plant: Plant, fault: Fault) -> None:
    """Let a fault happen now, and end when it says."""
    if fault.kind == "executor_lost":
        _lose_executors(plant, fault)
    elif fault.kind == "gc_pause":
        plant.paused_until_s = plant.now_s + fault.for_s
        if plant.running:
            plant.running.delay(plant.now_s, fault.for_s)
            plant.note_end(plant.running)
    elif fault.kind == "driver_lost":
        _lose_driver(plant, fault)
    elif fault.kind in PACES:
        setattr(plant, PACES[fault.kind], fault.factor)
        plant.slowed_by[fault.kind] = fault
        plant.later(fault.for_s, partial(_fast_again, plant, fault))
    elif fault.kind == "pods_pending":
        plant.fleet.cap = plant.executors
        plant.later(fault.for_s, partial(_pods_fit, plant))


def _fast_again(plant: Plant, fault: Fault) -> None:
    """The end of a slowness, unless another one of its kind has begun since."""
    if plant.slowed_by[fault.kind] is fault:
        setattr(plant, PACES[fault.kind], 1.0)


def _lose_executors(plant: Plant, fault: Fault) -> None:
    lost = min(fault.count, plant.executors)
    if lost == 0:
        return
    if plant.running:
        plant.running.redo(plant.now_s, lost / plant.executors)
        plant.note_end(plant.running)
    plant.fleet.lost += lost
    plant.arrange(lost=True)

    def back() -> None:
        plant.fleet.lost -= lost
        plant.arrange()

    plant.later(fault.back_after_s or 0.0, back)


def _lose_driver(plant: Plant, fault: Fault) -> None:
    """Lose the batch under way; it runs again with the same range once the driver is back."""
    if plant.running:
        plant.replay = (plant.running.first, plant.running.last)
        plant.running = None
    plant.since_start = 0
    told_s = fault.back_after_s
    away_s = plant.restart_s(plant.plant.change.driver_restart_s) if told_s is None else told_s
    plant.away_until_s = plant.down_until_s = plant.now_s + away_s
    if plant.asked is None:
        plant.run += 1
        plant.start_at(plant.down_until_s)
    else:
        plant.restart_query()


def _pods_fit(plant: Plant) -> None:
    plant.fleet.cap = plant.plant.cluster.executors_max
    plant.arrange()
