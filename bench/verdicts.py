"""The targets, the results, and whether they are met."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.control import OURS
from bench.results import SHIPPED, Results
from bench.runs import Row
from bench.stats import Point, dominates, front

FRAME = ("oracle", "static-peak")
"""They know the plant and the future load, so nobody wins or loses against them."""
EVEN, BEST_SCORE = "white", 1.45
MEAN_HOURS, MOST_HOURS = 1.08, 1.4
FORGIVEN = {"fault": 0.015, "gap": 0.015}
"""Share of the seconds that may violate the goal, where it is not a hundredth."""
CONSTANT = ("constant", "bound-higher", "bound-lower")
DS2, DS2_NAIVE = "ds2 by D − o", "ds2 by n/D"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One target, and the figure for one of our two variants."""

    target: str
    label: str
    figure: str
    met: bool | None
    """None if it could not be measured."""
    noise: str = ""

    @property
    def word(self) -> str:
        """For tables."""
        return "not measured" if self.met is None else "met" if self.met else "MISSED"

    def line(self) -> str:
        """For a terminal."""
        return f"{self.word:13}{self.noise:6}{self.label:20}{self.target}: {self.figure}"

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {"noise": self.noise, "target": self.target, "controller": self.label,
                "figure": self.figure, "verdict": self.word}  # fmt: skip


def judged(results: Results) -> list[Verdict]:
    """Every target under every noise, then those without noise."""
    noisy = [
        replace(verdict, noise=noise)
        for noise in results.noises for verdict in verdicts(results.under(noise))
    ]  # fmt: skip
    return [*noisy, *_steps(results)]


Judge = Callable[[Results, str], Iterator[Verdict]]


def verdicts(results: Results) -> list[Verdict]:
    """Every target for our tuned variant and for the shipped one, under one noise."""
    judges: tuple[Judge, ...] = (
        _score, _shipped, _held_out,
        _against_flink, _against_oracle, _reversals, _detect, _settle, _decision,
    )  # fmt: skip
    labels = [label for label in (OURS, OURS + SHIPPED) if label in results.labels]
    found = [v for judge in judges for label in labels for v in judge(results, label)]
    return [*found, *_fronts(results)]


def _score(results: Results, label: str) -> Iterator[Verdict]:
    """Ours, as shipped too, against the best of the tuned peers."""
    target = "the mean score over all workloads is below that of every tuned peer"
    peers = [n for n in results.labels if not n.startswith(OURS) and n not in FRAME]
    if not peers:
        yield Verdict(target, label, "no peer ran", None)
        return
    best = min(peers, key=lambda name: _mean_cost(results, name))
    ours, theirs = _mean_cost(results, label), _mean_cost(results, best)
    yield Verdict(target, label, f"{ours:.3f} against {theirs:.3f} ({best})", ours < theirs)


def _shipped(results: Results, label: str) -> Iterator[Verdict]:
    """The score that what ships is to have with even batches."""
    if label != OURS and results.noises == [EVEN]:
        target = f"the mean score over all workloads as shipped is below {BEST_SCORE}"
        score = _mean_cost(results, label)
        yield Verdict(target, label, f"{score:.3f}", score < BEST_SCORE)


def _held_out(results: Results, label: str) -> Iterator[Verdict]:
    """What nobody has tuned for, against the workloads that were looked at."""
    if not results.held_out:
        return
    fresh, known = (statistics.fmean(_over_oracle(r.of(label))) for r in (results.fresh, results))
    target = "core-hours / oracle at the same bound: on held-out loads <= 1.03 of the workloads'"
    yield Verdict(target, label, f"{fresh:.3f} against {known:.3f}", fresh <= 1.03 * known)
    for verdict in _score(results.fresh, label):
        yield replace(verdict, target=f"held-out loads: {verdict.target}")


def _over_oracle(rows: Sequence[Row]) -> list[float]:
    return [r["core_hours"] / r["oracle_core_hours"] for r in rows]


def _mean_cost(results: Results, label: str) -> float:
    return statistics.fmean(float(row["cost"]) for row in results.of(label))


def _against_flink(results: Results, label: str) -> Iterator[Verdict]:
    ours, theirs = results.of(label), results.of("flink")
    targets = {
        "recover after a rise": lambda r: sum(rise["recover_s"] for rise in r["rises"]),
        "lag area": lambda r: r["lag_area"],
        "SLO-violation seconds": lambda r: r["slo_violation_s"],
    }
    for name, pick in targets.items():
        target = f"{name} <= 0.7 of the best Flink at <= 1.05 of its core-hours"
        if len(theirs) != len(ours):
            yield Verdict(target, label, "flink did not run", None)
            continue
        ratio = quotient(sum(map(pick, ours)), sum(map(pick, theirs)))
        hours = quotient(total(ours, "core_hours"), total(theirs, "core_hours"))
        figure = f"{ratio:.2f} at {hours:.2f}"
        yield Verdict(target, label, figure, ratio <= 0.7 and hours <= 1.05)


def _against_oracle(results: Results, label: str) -> Iterator[Verdict]:
    rows = results.of(label)
    ratios = _over_oracle(rows)
    mean, worst = statistics.fmean(ratios), max(ratios)
    where = rows[ratios.index(worst)]
    held = 1 - statistics.fmean(r["violating"] for r in rows)
    short = [
        w for w in results.workloads
        if statistics.fmean(r["violating"] for r in results.of(label, w)) > FORGIVEN.get(w, 0.01)
    ]  # fmt: skip
    figure = (
        f"mean {mean:.2f}, worst {worst:.2f} ({where['workload']}, seed {where['seed']}); goal held"
        f" in {100 * held:.2f} % of the seconds; too little: {', '.join(short) or 'none'}"
    )
    yield Verdict(
        f"core-hours / oracle at the same bound <= {MEAN_HOURS} mean, <= {MOST_HOURS} worst, the"
        " goal held in >= 99 % of the seconds on every workload, 98.5 % with a fault or a gap",
        label, figure, mean <= MEAN_HOURS and worst <= MOST_HOURS and not short,
    )  # fmt: skip


def points(results: Results, name: str, workloads: Sequence[str]) -> dict[str, Point]:
    """Mean core-hours and violating seconds of each variant of a controller, over workloads."""
    rows = [r for r in results.fronts.get(name, []) if r["workload"] in workloads]
    labels = dict.fromkeys(r["label"] for r in rows)
    return {label: point([r for r in rows if r["label"] == label]) for label in labels}


def point(rows: Sequence[Row]) -> Point:
    """Core-hours and violating seconds: the means over seeds, summed over workloads."""
    seeds = len({r["seed"] for r in rows}) or 1
    hours, late = total(rows, "core_hours"), total(rows, "slo_violation_s")
    return round(hours / seeds, 3), round(late / seeds, 1)


def undominated(ours: dict[str, Point], theirs: dict[str, Point]) -> list[str]:
    """The points on their Pareto front that none of ours dominates, by label."""
    best = set(front(list(theirs.values())))
    return [
        name for name, at in theirs.items()
        if at in best and not any(dominates(mine, at) for mine in ours.values())
    ]  # fmt: skip


def _fronts(results: Results) -> Iterator[Verdict]:
    """Front against front: one variant cannot be better than every point of a front."""
    target = "a variant of ours dominates each point of KEDA's Pareto front, over all workloads"
    label = f"{OURS}, its grid"
    if not {OURS, "keda"} <= results.fronts.keys():
        yield Verdict(target, label, "not run", None)
        return
    left, size = _left(results, results.workloads)
    alone = [w for w in results.workloads if not _left(results, [w])[0]]
    figure = (
        f"{size - left} of {size} points; workload by workload all points in"
        f" {len(alone)} of {len(results.workloads)}"
    )
    yield Verdict(target, label, figure, not left)


def _left(results: Results, workloads: Sequence[str]) -> tuple[int, int]:
    """How many points of KEDA's front nobody of ours dominates, and how many there are."""
    ours, theirs = (points(results, name, workloads) for name in (OURS, "keda"))
    return len(undominated(ours, theirs)), len(front(list(theirs.values())))


def _reversals(results: Results, label: str) -> Iterator[Verdict]:
    rows = results.of(label, *CONSTANT)
    target = "no reversal at a constant load, also at a bound"
    if not rows:
        yield Verdict(target, label, "not run", None)
        return
    each = total(rows, "reversals") / total(rows, "hours")
    changes = total(rows, "steps") / total(rows, "hours")
    figure = f"{each:.2f} each hour, {changes:.2f} changes each hour"
    yield Verdict(target, label, figure, each == 0)


def _detect(results: Results, label: str) -> Iterator[Verdict]:
    yield _within(
        results, label, "detect_s", "detect a rise <= metric delay + scrape + dwell.up·tick"
    )


def _settle(results: Results, label: str) -> Iterator[Verdict]:
    known = "settle on a known curve <= 40 s"
    new = "settle on a new curve <= detect + live change + (steps − 1) rounds"
    yield _within(results, label, "settle_s", known, known=True)
    yield _within(results, label, "settle_s", new, known=False)


def _within(
    results: Results, label: str, figure: str, target: str, *, known: bool | None = None
) -> Verdict:
    limit = figure.replace("_s", "_limit_s")
    found = [
        (rise[figure], rise[limit], row["workload"], row["seed"])
        for row in results.of(label) for rise in row["rises"]
        if rise[limit] is not None and known in {None, rise["known"]}
    ]  # fmt: skip
    if not found:
        return Verdict(target, label, "no such rise", None)
    late = [f for f in found if f[0] > f[1] + 1e-6]
    worst = max(found, key=lambda f: f[0] - f[1])
    words = (
        f"{len(found) - len(late)} of {len(found)} rises; the worst {worst[0]:.0f} s where"
        f" {worst[1]:.0f} s are allowed ({worst[2]}, seed {worst[3]})"
    )
    return Verdict(target, label, words, not late)


def _decision(results: Results, label: str) -> Iterator[Verdict]:
    worst = max(r["decision_ms"] for r in results.of(label))
    yield Verdict("a decision <= 1 ms", label, f"{worst:.2f} ms, the worst median", worst <= 1)


def _steps(results: Results) -> Iterator[Verdict]:
    """T3 against the DS2 with the fewest steps; ending far off takes none, so cases count too."""
    for ours in (c for c in results.curves if c.label == OURS):
        target = f"steps on T3 at {ours.higher:g} below those of DS2, by D − o"
        found = [c for c in results.curves if c.label.startswith(DS2) and c.higher == ours.higher]
        if not found:
            yield Verdict(target, OURS, "ds2 did not run", None)
            continue
        ds2 = min(found, key=lambda c: c.mean)
        figure = (
            f"{ours.mean:.2f} mean, {ours.most} most, {ours.count} of {len(ours.cases)} count;"
            f" {ds2.label}: {ds2.mean:.2f}, {ds2.most}, {ds2.count}"
        )
        fewer = ours.mean < ds2.mean and ours.most <= ds2.most
        yield Verdict(target, OURS, figure, fewer and ours.count >= ds2.count)


def total(rows: Sequence[Row], name: str) -> float:
    """The sum of one figure."""
    return float(sum(r[name] for r in rows))


def quotient(ours: float, theirs: float) -> float:
    """Ours over theirs; 1 if both are 0."""
    if theirs:
        return ours / theirs
    return float("inf") if ours else 1.0
