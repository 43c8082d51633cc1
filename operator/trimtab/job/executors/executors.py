"""Scales the executor pods of a running query, chooses where they go, and counts their states.

The calls reach Spark's scheduler through py4j: there is no Python API for them. Scaling up sets an
absolute target, because the relative call counts from a total of its own. Scaling down
decommissions executors while no batch is being written: an executor exits moments after its last
task, and if Spark notices the loss before it has read the result, it runs that task again.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from pyspark import SparkContext

from trimtab.api.knobs import SCOPES
from trimtab.job import gateway
from trimtab.job.clock import Clock, monotonic_s
from trimtab.job.executors.locality import Locality
from trimtab.job.executors.placement import LABELS, Step, steps
from trimtab.job.gateway import items
from trimtab.job.telemetry.driver_state import ExecutorStates

log = logging.getLogger(__name__)

STEP_TIMEOUT_S = 60.0
"""If executors have not registered in their place by then, any place will do."""


def pick_to_remove(running: Iterable[str], leaving: Iterable[str], surplus: int) -> list[str]:
    """The newest executors: older ones have compiled code and warm Python workers."""
    gone = set(leaving)
    staying = sorted((e for e in running if e not in gone), key=int, reverse=True)
    return staying[: max(0, surplus)]


class Executors:
    """The executors of one Spark application on Kubernetes; thread-safe."""

    def __init__(
        self,
        context: SparkContext,
        plan: Sequence[Step],
        locality: Locality,
        places: Callable[[int], Mapping[str, int]],
        clock: Clock = monotonic_s,
    ) -> None:
        """`context` was started with the first step of `plan`.

        `places` returns the weight of each place that a scope prefers; empty if it prefers none.
        """
        self._jvm = gateway.classes(context)
        self._scala = gateway.scala_context(context)
        self._requested = plan[-1].target
        self._locality, self._places, self._clock = locality, places, clock
        self._lock = threading.Lock()
        self._leaving: set[str] = set()
        self._going: set[str] = set()
        self._known: set[str] = set()
        self._lost = 0
        self._writing = False
        self._steps: deque[Step] = deque(plan[1:])
        self._step: Step | None = plan[0]
        self._step_since = clock()
        self._selector: str | None = next(iter(plan[0].selector), None)

    @property
    def requested(self) -> int:
        """The target."""
        return self._requested

    @property
    def lost(self) -> int:
        """Executors so far that have gone without being told to."""
        return self._lost

    def places(self) -> dict[str, int]:
        """How many nodes and zones lead partitions; empty if no scope is set.

        0 means unknown.
        """
        if self._locality.scope is None:
            return {}
        return {SCOPES[scope]: len(self._places(scope)) for scope in LABELS}

    def scale(self, target: int) -> None:
        """Request `target` executors; returns before any has started or exited."""
        scope = self._locality.scope
        weights = self._places(scope) if scope is not None and target > self._requested else {}
        with self._lock:
            self._locality.settle(settled=False)
            running = self._running()
            staying = len(running - self._leaving)
            self._steps = deque(steps(staying, target, weights, scope))
            self._requested = target
            # Set the target first, as an absolute number: it stops no running executor, but cancels
            # pending pods and keeps Spark from replacing executors that leave.
            self._next_step()
            self._release(running)

    def give_way(self, executors: Iterable[str]) -> None:
        """Release these executors, because their pods are being deleted, once no batch runs.

        Spark has already asked for others in their place.
        """
        with self._lock:
            self._going = set(executors)

    def batch_begins(self) -> ExecutorStates:
        """A batch is about to be written and has no tasks yet; returns the counts at that time."""
        with self._lock:
            states = self._look()
            self._writing = True
            return states

    def batch_ended(self) -> None:
        """The batch was written or abandoned: no task runs until the next one begins."""
        with self._lock:
            self._writing = False

    def _release(self, running: set[str]) -> None:
        """Decommission what must go or is above the target, unless a batch is being written."""
        if self._writing:
            return
        for executor in sorted((self._going & running) - self._leaving):
            self._decommission(executor)
        surplus = len(running - self._leaving) - self._requested
        for executor in pick_to_remove(running, self._leaving, surplus):
            self._decommission(executor)

    def _next_step(self) -> None:
        self._step, self._step_since = self._steps.popleft(), self._clock()
        self._select(self._step)
        none = self._jvm.scala.collection.immutable.HashMap()
        self._scala.requestTotalExecutors(self._step.target, 0, none)

    def _select(self, step: Step | None) -> None:
        """Set the node selector of new pods in place of the previous one."""
        conf = self._scala.conf()
        if self._selector is not None:
            conf.remove(self._selector)
            self._selector = None
        for key, value in step.selector.items() if step else ():
            if conf.contains(key):
                log.warning("executors are not placed by %s: the pipeline's selector is", step)
                return
            conf.set(key, value)
            self._selector = key

    def _decommission(self, executor: str) -> None:
        why = self._jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo(
            "trimtab releases it", self._jvm.scala.Option.empty()
        )
        self._leaving.add(executor)
        self._scala.schedulerBackend().decommissionExecutor(executor, why, False, False)

    def _running(self) -> set[str]:
        return {str(each) for each in items(self._scala.getExecutorIds())}

    def states(self) -> ExecutorStates:
        """The counts now; also continues what `scale` began, so call it often."""
        with self._lock:
            return self._look()

    def _look(self) -> ExecutorStates:
        running = self._running()
        self._lost += len(self._known - running - self._leaving)
        self._known = running
        self._leaving &= running
        self._release(running)
        states = ExecutorStates(self._requested, len(running), len(self._leaving))
        self._go_on(states.staying)
        self._locality.settle(settled=states.running == states.staying == states.requested)
        return states

    def _go_on(self, staying: int) -> None:
        step = self._step
        if step is None:
            return
        late = self._clock() - self._step_since > STEP_TIMEOUT_S
        if late and step.label is not None and staying < step.target:
            log.warning("no executors start in %s: any place will do", step.value)
            self._steps = deque([Step(self._requested)])
            self._next_step()
        elif staying >= step.target and self._steps:
            self._next_step()
        elif staying >= step.target:
            self._step = None
            self._select(None)
