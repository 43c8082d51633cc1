"""The page of a run: verdicts, a table over all workloads, one per workload, and all variants."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from bench.control import OURS
from bench.edges import EXTRA, ROUNDS, edges
from bench.grids import CHANGE, GRIDS, parameters
from bench.noises import WORDS
from bench.results import Results, cheapest
from bench.runs import Row
from bench.stats import Spread, compare, front, spread
from bench.verdicts import FRAME, points, undominated, verdicts

HOW = """\
Simulated runs, without a cluster. Every controller gets the same plant, load, noise, metrics (5 s
scrape, 5 s delay) and executor delay (5 s; a change costs nothing else, which favours controllers
whose changes are restarts).

- **Knobs.** The trigger (5 s) and the batch limit (200,000 records, 40,000/s) are pinned for all
  controllers, including ours, since no peer moves them except `spark-pid`, whose law sets the
  limit. The comparison is about the choice of executors.
- **Workloads.** `bench/workloads`: the six shapes of espa-autoscaling at their original length, a
  day, steps, skew, a gap in the metrics, faults, constant loads in the band and exactly at both
  bounds, a load that flaps around the bound, 13 partitions in waves, square waves, bursts after
  idleness, slow starts of executors, a service that is slow for a while. Each runs under two
  noises; arrivals have 5 %. Steps fall between two ticks. The capacity is ContTune's measured
  curve of Nexmark Q1, scaled, or another curve that bends; neither is derived from our model.
- **Tuning.** Each controller, including ours, has {budget} variants, one of them as shipped.
  Score: core-hours / least + {weight} · (violating share of the seconds) + {change} · (changes an
  hour), mean over {tuned_on}, both noises and seeds {tuning_seeds}. *Least* is the oracle's at
  load 1.0. The best variant runs below, on seeds {seeds}; neither these nor the other workloads
  were used for tuning. `as shipped` is the first variant, untuned. Where the best
  variant has a value on the edge of what was tried, variants one step beyond are tried too, in at
  most {rounds} rounds and {extra} variants for each controller.
- **Loads that nobody has tuned for** (`bench/heldout.py`) are ten, each with a capacity of its own,
  made from the number of the commit under test: nobody knew them when the law was written.
- **Sensing.** All rows above are from what Prometheus has, for ours too, but for `trimtab as
  shipped` in its three profiles: these read the driver itself every 2 s, as the operator does.
  `trimtab as shipped, from Prometheus` shows what the same settings do without that.
- **What the goal forgives.** Only batches of more than 7.25 s violate p95 <= 12 s at a trigger of
  5 s. So a controller that runs at a load near 1 violates nothing while the load is flat, whereas
  our bound of 0.8 buys room for rises, faults and noise: flat loads show its cost, the others its
  benefit.
- **Spread.** Numbers are means over the seeds, followed by the range. *Against ours* compares the
  score seed by seed: a mean difference within one standard deviation of the differences is a tie.
- **Totals** add up the seeds and workloads. A rise without recovery counts with its full length.
  A round is a live change, five batches and dwell.up ticks.
"""


def page(results: Results, folder: str) -> str:
    """The page in Markdown; pictures and JSON are in `folder` next to it."""
    facts = results.facts
    lists = {k: ", ".join(map(str, facts[k])) for k in ("tuned_on", "tuning_seeds", "seeds")}
    fixed = {"budget": facts["budget"], "weight": facts["weight"], "change": CHANGE,
             "rounds": ROUNDS, "extra": EXTRA}  # fmt: skip
    parts = [
        "# All controllers on all workloads",
        f"`{facts['command']}` at commit {facts['commit']}; {facts['wall_s']} s on"
        f" {facts['workers']} processes. Every row: [control.json]({folder}/control.json).",
        *_missing(results),
        *(part for noise in results.noises for part in _under(results.under(noise), noise)),
        "## How it was run",
        HOW.format(**fixed, **lists),
        "## Workload by workload", *_workloads(results, folder),
        "## Steps on a measured curve", _curves(results),
        "## Edges of the grids", _edges(results),
        "## Every variant that was tried", _tried(results),
    ]  # fmt: skip
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _under(results: Results, noise: str) -> Iterator[str]:
    """What is said of one noise."""
    yield f"## With {WORDS[noise]}"
    yield from ("### Targets", _targets(results))
    yield from ("### Over all workloads", _overall(results))
    yield from ("### Where a peer is better than ours", _losses(results))
    if results.held_out:
        yield from ("### On loads that nobody has tuned for", _held_out(results))
    yield from ("### Fronts", _fronts(results))


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)])


def _missing(results: Results) -> Iterator[str]:
    if results.skipped:
        words = (f"`{name}`: {why}" for name, why in results.skipped.items())
        yield f"**Did not run:** {'; '.join(words)}."
    if results.errors:
        yield f"**{len(results.errors)} runs failed**, the first: {results.errors[0]}"


def _targets(results: Results) -> str:
    rows = [(v.target, v.label, v.figure, v.word) for v in verdicts(results)]
    return _table(("target", "controller", "figure", "verdict"), rows)


def _range(found: Spread, digits: int = 2, *, factor: float = 1) -> str:
    mean, least, most = (factor * x for x in (found.mean, found.least, found.most))
    if round(least, digits) == round(most, digits):
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ({least:.{digits}f}–{most:.{digits}f})"


def _ratio(row: Row) -> float:
    return float(row["core_hours"] / row["oracle_h1_core_hours"])


def _by_seed(rows: Sequence[Row], pick: Callable[[Row], float]) -> Spread:
    """The spread, over seeds, of the mean over workloads."""
    seeds = dict.fromkeys(row["seed"] for row in rows)
    return spread([statistics.fmean(pick(r) for r in rows if r["seed"] == s) for s in seeds])


def _overall(results: Results) -> str:
    rows = []
    for label in sorted(results.labels, key=lambda x: _by_seed(results.of(x), _cost).mean):
        own = results.of(label)
        hours = sum(r["hours"] for r in own)
        rows.append((
            f"**{label}**" if label == OURS else label,
            _range(_by_seed(own, _cost)),
            _range(_by_seed(own, _ratio)),
            _range(_by_seed(own, lambda r: float(r["violating"])), factor=100),
            f"{_by_seed(own, lambda r: r['lag_area'] / 1e6).mean:.1f}",
            f"{sum(r['steps'] for r in own) / hours:.1f}",
            f"{sum(r['reversals'] for r in own) / hours:.2f}",
            f"{max(r['decision_ms'] for r in own):.2f}",
            _record(results, label),
        ))  # fmt: skip
    heads = (
        "controller", "score", "core-hours / least", "violating, %", "lag area, 10⁶ record·s",
        "changes / h", "reversals / h", "decision, ms", "ours better, tie, worse",
    )  # fmt: skip
    chosen = "; ".join(f"{n}: `{words}`" for n, words in results.facts["chosen"].items())
    return f"{_table(heads, rows)}\n\nAs tuned: {chosen}."


def _held_out(results: Results) -> str:
    held = results.fresh
    rows = [
        (
            f"**{label}**" if label == OURS else label,
            f"{statistics.fmean(map(_cost, held.of(label))):.3f}",
            f"{statistics.fmean(map(_ratio, held.of(label))):.2f}",
            f"{100 * statistics.fmean(r['violating'] for r in held.of(label)):.2f}",
            _record(held, label),
        )
        for label in sorted(held.labels, key=lambda x: statistics.fmean(map(_cost, held.of(x))))
    ]
    heads = ("controller", "score", "core-hours / least", "violating, %", "ours better, tie, worse")
    return f"Seed {results.facts['held_out']}, two runs each.\n\n{_table(heads, rows)}"


def _cost(row: Row) -> float:
    return float(row["cost"])


def against(results: Results, label: str, workload: str) -> str:
    """Whether our score is `better`, a `tie` or `worse` on one workload."""
    ours = {r["seed"]: r["cost"] for r in results.of(OURS, workload)}
    theirs = {r["seed"]: r["cost"] for r in results.of(label, workload)}
    seeds = sorted(ours.keys() & theirs.keys())
    if not seeds:
        return "–"
    words = {"less": "better", "more": "worse", "tie": "tie"}
    return words[compare([ours[s] for s in seeds], [theirs[s] for s in seeds])]


def _record(results: Results, label: str) -> str:
    if label in {OURS, *FRAME}:
        return "–"
    found = Counter(against(results, label, workload) for workload in results.workloads)
    return f"{found['better']}, {found['tie']}, {found['worse']}"


def _losses(results: Results) -> str:
    rows = []
    for workload in results.workloads:
        ours = results.of(OURS, workload)
        for label in results.labels:
            if label in FRAME or label.startswith(OURS):
                continue
            if against(results, label, workload) == "worse":
                theirs = results.of(label, workload)
                rows.append((workload, label, *_pair(ours), *_pair(theirs)))
    if not rows:
        return "Nowhere: by the tuning score, ours is better or tied on every workload."
    heads = ("workload", "peer", "our violating s", "our core-hours / least", "its violating s",
             "its core-hours / least")  # fmt: skip
    return _table(heads, rows)


def _pair(rows: Sequence[Row]) -> tuple[str, str]:
    return (
        _range(spread([r["slo_violation_s"] for r in rows]), 0),
        _range(spread([_ratio(r) for r in rows])),
    )


def _workloads(results: Results, folder: str) -> Iterator[str]:
    views = [results.under(noise) for noise in results.noises]
    heads = ["controller", *(
        f"{noise}: {head}"
        for noise in results.noises
        for head in ("violating, s", "core-hours / least", "changes", "reversals", "ours is")
    )]  # fmt: skip
    for workload in results.workloads:
        rows = [
            (f"**{label}**" if label == OURS else label,
             *(cell for view in views for cell in _cells(view, label, workload)))
            for label in results.labels if results.of(label, workload)
        ]  # fmt: skip
        drawn = workload in results.traces
        image = f"\n\n![{workload}: load, capacity, lag, executors]({folder}/{workload}.png)"
        yield f"### {workload}\n\n{_table(heads, rows)}{image if drawn else ''}"


def _cells(results: Results, label: str, workload: str) -> Sequence[str]:
    own = results.of(label, workload)
    if not own:
        return ("–",) * 5
    return (
        *_pair(own),
        _range(spread([r["steps"] for r in own]), 0),
        f"{statistics.fmean(r['reversals'] for r in own):.1f}",
        "–" if label in {OURS, *FRAME} else against(results, label, workload),
    )


def _fronts(results: Results) -> str:
    if not results.fronts:
        return "Not run."
    found = {name: points(results, name, results.workloads) for name in results.fronts}
    rows = []
    for name, of in found.items():
        best = set(front(list(of.values())))
        others = {k: at for other, each in found.items() if other != name for k, at in each.items()}
        left = undominated(others, of)
        rows += [
            (name, f"`{label.removeprefix(name).strip()}`", *at, "no" if label in left else "yes")
            for label, at in sorted(of.items(), key=lambda item: item[1]) if at in best
        ]  # fmt: skip
    heads = ("controller", "variant on its front", "core-hours", "violating s",
             "dominated by the other")  # fmt: skip
    return f"Sums over all workloads, means over seeds.\n\n{_table(heads, rows)}"


def _edges(results: Results) -> str:
    rows = []
    for name in dict.fromkeys(t.variant.name for t in results.tried if t.variant.name in GRIDS):
        tried = [t for t in results.tried if t.variant.name == name]
        if variant := cheapest(tried):
            found = edges(variant, [t.variant for t in tried])
            rows.append((name, parameters(name), len(tried), ", ".join(found) or "none"))
    words = (
        "A best value on the edge of what was tried may have a better one beyond. A value with"
        " none beyond, such as one round of dwell, is no edge."
    )
    heads = ("controller", "parameters varied", "variants", "best value on an edge")
    return f"{words}\n\n{_table(heads, rows)}"


def _curves(results: Results) -> str:
    rows = [
        (f"{c.higher:g}", c.label, f"`{c.words}`", f"{c.mean:.2f}", c.most,
         f"{c.count} of {len(c.cases)}")
        for c in results.curves
    ]  # fmt: skip
    words = (
        "Seven loads, from 1 and from 26 executors, on ContTune's curve of Nexmark Q1, without"
        " noise and with nothing learned. A case counts if it ends exact and visits at most final +"
        " max(2, final/2). A controller that never gets close takes few steps, so read the last"
        " column first. Only ours and DS2 (by its scaling factor) can be given the bound."
    )
    heads = ("bound", "controller", "parameters", "steps, mean", "most", "count")
    return f"{words}\n\n{_table(heads, rows)}"


def _tried(results: Results) -> str:
    rows = [
        (t.variant.name, f"`{t.variant.words}`", *(
            (t.error, "", "") if t.error
            else (f"{t.cost:.3f}", f"{t.ratio:.2f}", f"{100 * t.violating:.2f}")
        ))
        for t in results.tried
    ]  # fmt: skip
    return _table(("controller", "parameters", "score", "core-hours / least", "violating, %"), rows)
