"""The real engine of the Flink autoscaler: its own vectors, and the life of its JVM."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from bench.peers.flink import Parameters, parallelism
from bench.peers.flink_jvm import Engine, Seen, build

from trimtab.errors import UnavailableError

pytestmark = [pytest.mark.jvm, pytest.mark.timeout(600)]

KEY_GROUPS = 720
AT_ONCE = {
    "enabled": "true",
    "stabilization.interval": "0 ms",
    "metrics.window": "1 s",
    "scale-down.interval": "0 ms",
    "scale-down.max-factor": "1.0",
}


def options(**changes: str) -> dict[str, str]:
    """By the last parts of their names, `__` for a dot and `_` for a dash."""
    named = {name.replace("__", ".").replace("_", "-"): text for name, text in changes.items()}
    return {f"job.autoscaler.{name}": text for name, text in (AT_ONCE | named).items()}


def seen(at_s: int, current: int, done: float, **known: float) -> Seen:
    job = Seen(at_s * 1000, 0, current, KEY_GROUPS, 0, done, 0, 1000, 0)
    return replace(job, **known)  # type: ignore[arg-type]


VECTORS = [
    # JobVertexScalerTest: parallelism, target rate, true rate, utilisation, max down, up -> new
    (10, 50, 100, 1.0, 1.0, 1e5, 5),
    (10, 50, 100, 0.8, 1.0, 1e5, 8),
    (10, 80, 100, 0.8, 1.0, 1e5, 10),
    (10, 60, 100, 0.8, 1.0, 1e5, 8),
    (10, 59, 100, 0.8, 1.0, 1e5, 8),
    (2, 100, 40, 0.5, 1.0, 1e5, 10),
    (2, 100, 100, 0.6, 1.0, 1e5, 4),
    (10, 10, 100, 1.0, 0.5, 1e5, 5),
    (10, 10, 100, 1.0, 0.6, 1e5, 4),
    (10, 200, 10, 1.0, 0.6, 0.5, 15),
    (10, 200, 10, 1.0, 0.6, 0.6, 16),
]


@pytest.mark.parametrize(("p", "target", "true", "util", "down", "up", "new"), VECTORS)
def test_the_engine_has_the_vectors_of_its_vertex_scaler(
    engine: Engine, p: int, target: float, true: float, util: float, down: float, up: float,
    new: int,
) -> None:  # fmt: skip
    """The rate comes in over one second, busy for rate/true of it; no band holds anything back.

    Theirs is a vertex behind a hash, aligned to its 720 key groups; for a source it is partitions.
    """
    job = engine.begin(
        options(
            target__utilization=str(util), target__utilization__boundary="0.0",
            catch_up__duration="0 ms", scale_down__max_factor=str(down),
            scale_up__max_factor=str(up),
        )
    )  # fmt: skip
    rates = {
        "records_in_per_s": target, "busy_ms_per_s": 1000 * target / true,
        "partitions": KEY_GROUPS,
    }  # fmt: skip
    assert engine.scale(job, seen(0, p, 1000, **rates)) == p
    assert engine.scale(job, seen(1, p, 1000 + target, **rates)) == new


LIFE = [
    # running since, parallelism, records in per second, busy ms, then pending records by second
    (0, 1, 500, 850, [(2000, 1), (2000, 1), (2000, 4)]),
    (3, 4, 1800, 1000, [(6000, 4), (3600, 4), (2000, 4), (400, 2)]),
    (7, 2, 900, 1000, [(2000, 2), (1400, 2), (800, 2), (300, 2)]),
]


def test_up_then_still_while_the_backlog_drains_then_down_then_still(engine: Engine) -> None:
    """The loads of BacklogBasedScalingTest at release-1.10.0, for its source.

    First: 500/s at 0.8 and 2000 records in 2 s and 1 s of restart are 1875/s, of which one instance
    does 588: four. The third second of each job is the first with a full window of 2 s.
    """
    job = engine.begin(
        options(
            metrics__window="2 s", restart__time="1 s", catch_up__duration="2 s",
            target__utilization="0.8", target__utilization__boundary="0.1",
            backlog_processing__lag_threshold="1 s",
        )
    )  # fmt: skip
    for since_s, current, rate, busy, seconds in LIFE:
        for second, (pending, wanted) in enumerate(seconds):
            tick = seen(
                since_s + second, current, rate * second, running_since_ms=1000 * since_s,
                records_in_per_s=rate, busy_ms_per_s=busy, pending_records=pending,
            )  # fmt: skip
            assert engine.scale(job, tick) == wanted, tick


@pytest.mark.parametrize(("rate", "true", "lag"), [(900, 400, 0), (900, 400, 9000), (100, 800, 0)])
@pytest.mark.parametrize("partitions", [0, 12])
def test_the_engine_and_the_law_agree_where_there_is_one_window(
    engine: Engine, rate: float, true: float, lag: float, partitions: int
) -> None:
    job = engine.begin(options(target__utilization__boundary="0.0"))
    known = {
        "busy_ms_per_s": 1000 * rate / true, "records_in_per_s": rate, "pending_records": lag,
        "partitions": partitions,
    }  # fmt: skip
    engine.scale(job, seen(0, 3, 1000, **known))
    law = parallelism(
        Parameters(max_scale_down=1), current=3, input_rate=rate, true_rate=true,
        catch_up_rate=lag / 1800, groups=partitions,
    )  # fmt: skip
    assert engine.scale(job, seen(1, 3, 1000 + rate, **known)) == law


def test_on_a_prime_number_of_partitions_it_is_not_the_law_of_today(engine: Engine) -> None:
    """11 wanted of 23: 1.10.0 looks up to half of them, then down while none has over three."""
    job = engine.begin(options(target__utilization__boundary="0.0"))
    known = {"busy_ms_per_s": 2250, "records_in_per_s": 900, "partitions": 23}
    engine.scale(job, seen(0, 3, 1000, **known))
    assert engine.scale(job, seen(1, 3, 1900, **known)) == 8
    law = Parameters(max_scale_down=1)
    assert parallelism(law, current=3, input_rate=900, true_rate=400, groups=23) == 23


def test_scale_down_waits_for_its_interval_on_our_clock(engine: Engine) -> None:
    """The vertex scaler's clock is the one that is easily forgotten."""
    job = engine.begin(options(scale_down__interval="10 s"))
    wanted = [
        engine.scale(job, seen(second, 8, 100 * second, busy_ms_per_s=100, records_in_per_s=100))
        for second in range(14)
    ]
    assert wanted == [8] * 11 + [2] * 3


def test_what_the_engine_swallows_is_raised(engine: Engine) -> None:
    job = engine.begin(options(metrics__window="long"))
    with pytest.raises(UnavailableError, match=r"metrics\.window"):
        engine.scale(job, seen(0, 1, 0))


def test_a_job_that_is_over_is_refused(engine: Engine) -> None:
    old = engine.begin(options())
    engine.begin(options())
    with pytest.raises(UnavailableError, match="another job"):
        engine.scale(old, seen(0, 1, 0))


def test_a_jvm_that_is_gone_is_said(engine: Engine) -> None:
    other = Engine(build())
    other.process.kill()
    other.process.wait()
    with pytest.raises(UnavailableError, match="the JVM of the Flink engine"):
        other.begin(options())
    other.close()


ORPHAN = """
import os, signal, sys
from bench.peers.flink_jvm import Engine, build
engine = Engine(build())
engine.begin({})
print(engine.process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_jvm_ends_with_the_process_that_asked(engine: Engine) -> None:
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), str(root / "operator")])
    done = subprocess.run(
        [sys.executable, "-c", ORPHAN], env=os.environ | {"PYTHONPATH": path}, cwd=root,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    pid = int(done.stdout)
    deadline = time.monotonic() + 10
    while _lives(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _lives(pid)


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"
