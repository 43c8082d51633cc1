"""The live comparison's own arithmetic: shares, scores and the book."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.live import contest, grid
from bench.live.book import Book
from bench.live.figures import Span, changes, longest_break
from bench.live.page import MARK, inserted, markdown
from bench.live.plots import picture
from bench.live.points import (
    GRIDS,
    Goal,
    Point,
    Window,
    best_latency,
    best_throughput,
    beyond,
    executor_seconds,
    met_share,
    spread,
)
from bench.live.shapes import COSINE, HIGH, LOW, STEP, at, seconds
from bench.simreal.seen import Batch

from trimtab.api.quantities import parse_duration
from trimtab.api.v1alpha1.tuning import Tuning


def batch(number: int, committed_s: float, p95_s: float) -> Batch:
    return Batch(number, committed_s, 100, 1.0, p95_s, 1, 100.0 * number)


def window(
    point: Point, goal: Goal = "latency", *, met: float = 1.0, p95_s: float = 3.0,
    rate: float = 600.0, saturated: bool = False, repeat: int = 0,
) -> Window:  # fmt: skip
    return Window(
        goal, point, repeat, 120.0, met, p95_s, rate, point.executors * 120.0, 40, saturated, 1.0,
        "abc",
    )  # fmt: skip


def test_the_grids_are_every_setting_once() -> None:
    latency, flood = GRIDS["latency"], GRIDS["throughput"]
    assert len(latency) == len(set(latency)) == 2 * 4 * 3
    assert len(flood) == len(set(flood)) == 3 * 3


def test_a_best_point_at_an_edge_asks_for_the_next_one_out_there() -> None:
    flood = [window(p, "throughput", rate=p.calls + p.limit / 1000) for p in GRIDS["throughput"]]
    far = Point(4, 1.0, 256, 320_000)
    assert beyond(flood, "throughput") == [replace(far, calls=512), replace(far, limit=1_280_000)]
    worse = [window(p, "throughput", rate=1) for p in beyond(flood, "throughput")]
    assert beyond([*flood, *worse], "throughput") == []
    assert beyond([], "latency") == []


def test_a_best_point_within_the_grid_asks_for_none() -> None:
    seen = [window(p, p95_s=p.executors + abs(p.trigger_s - 0.5) + abs(p.calls - 16))
            for p in GRIDS["latency"]]  # fmt: skip
    found = best_latency(seen)
    assert found is not None
    assert found.point == Point(1, 0.5, 16)
    assert beyond(seen, "latency") == []


def test_seconds_belong_to_the_batch_that_ends_them() -> None:
    batches = [batch(1, 10, 3.0), batch(2, 30, 9.0), batch(3, 38, 4.0)]
    assert met_share(batches, 0, 40, target_s=5) == pytest.approx((10 + 8 + 2) / 40)


@pytest.mark.parametrize(("p95_s", "met"), [(4.0, 1.0), (9.0, 30 / 40)])
def test_the_last_seconds_belong_to_the_batch_that_is_committed_after_the_end(
    p95_s: float, met: float
) -> None:
    batches = [batch(1, 30, 3.0), batch(2, 42, p95_s), batch(3, 60, p95_s)]
    assert met_share(batches, 0, 40, target_s=5) == pytest.approx(met)


def test_a_batch_that_does_not_end_breaks_the_goal() -> None:
    assert met_share([batch(1, 10, 3.0)], 0, 40, target_s=5) == pytest.approx(10 / 40)
    assert met_share([], 0, 40, target_s=5) == 0


def test_the_fewest_executors_that_hold_win_and_then_the_shorter_latency() -> None:
    slow, quick = Point(1, 2, 16), Point(1, 1, 16)
    seen = [
        window(Point(2, 1, 16), p95_s=1.0), window(slow, p95_s=3.5),
        replace(window(quick, p95_s=2.5), executor_s=121.0),
        window(Point(1, 5, 16), met=0.98), window(slow, p95_s=0.1, repeat=1),
    ]  # fmt: skip
    found = best_latency(seen)
    assert found is not None
    assert found.point == quick
    assert best_latency([window(slow, met=0.5)]) is None


def test_the_most_records_win() -> None:
    seen = [
        window(Point(4, 1, 4), rate=900.0, saturated=True),
        window(Point(4, 1, 16), "throughput", rate=2000.0),
        window(Point(4, 1, 64), "throughput", rate=2500.0),
        window(Point(4, 1, 16), "throughput", rate=2900.0, repeat=1),
    ]
    found = best_throughput(seen)
    assert found is not None
    assert found.rate == 2500
    assert best_throughput(seen[:1]) is None


def test_the_noise_is_half_the_range_over_the_mean() -> None:
    assert spread([90, 100, 110]) == pytest.approx(0.1)
    assert spread([100]) == 0


def test_executors_hold_until_the_next_sample() -> None:
    assert executor_seconds([(2, 1), (10, 3)], 0, 20) == pytest.approx(10 * 1 + 10 * 3)
    assert executor_seconds([], 0, 20) == 0


def test_the_book_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    book = Book.open(tmp_path / "live/measured.json")
    one = window(GRIDS["latency"][0])
    book.add(one)
    book.add(replace(one, goal="throughput"))
    book.add_run({"who": "trimtab"})
    again = Book.open(book.path)
    assert (again.windows, again.runs) == (book.windows, book.runs)


def test_the_shapes_reach_from_the_low_to_the_high() -> None:
    assert (at(STEP, 0), at(STEP, 100), at(STEP, 1000)) == (LOW, HIGH, LOW)
    assert min(r for _, r in COSINE) == pytest.approx(LOW, abs=2)
    assert max(r for _, r in COSINE) == pytest.approx(HIGH, abs=2)
    assert seconds(STEP) == seconds(COSINE) == 360


def test_the_longest_break_is_of_batches_on_end() -> None:
    seen = [batch(1, 10, 9), batch(2, 20, 3), batch(3, 30, 9), batch(4, 45, 9), batch(5, 50, 3)]
    assert longest_break(seen, Span(0, 60)) == 25
    assert longest_break(seen, Span(0, 20)) == 10


def test_of_samples_the_changes_are_kept() -> None:
    assert changes([(0, 1), (5, 1), (10, 2), (15, 2)]) == [(0, 1), (10, 2), (15, 2)]
    assert changes([]) == []


def run(who: str, shape: str = "step", repeat: int = 0, **figures: float) -> dict[str, Any]:
    plain = {
        "seconds": 360.0, "met": 1.0, "p95_s": 3.0, "rate": 300.0, "executor_s": 360.0,
        "longest_break_s": 0.0,
    }  # fmt: skip
    cold = plain | {"met": 0.95}
    return {
        "who": who, "shape": shape, "repeat": repeat, "commit": "abc", "settings": {"executors": 1},
        "decisions": [], "batches": [[1, 3.0, 100], [3, 9.0, 100]], "executors": [[0, 1]],
        "passes": [plain | figures] if shape == "flood" else [cold, plain | figures],
    }  # fmt: skip


def test_the_page_says_what_is_met_and_what_is_missing(tmp_path: Path) -> None:
    book = Book(tmp_path / "measured.json")
    book.windows = [window(Point(1, 1, 16)), window(Point(1, 1, 8), saturated=True, rate=90)]
    book.runs = [run("trimtab", executor_s=380), run("best static", p95_s=2.0)]
    text = markdown(book)
    assert "falls behind" in text
    assert "**1 x 1 s x 16 x 6,000**" in text
    assert "trimtab, cold: the goal is met in 95.0% of the seconds, 90% wanted: met" in text
    assert "1.06 of the executor-seconds of the best static settings (1.10 wanted)" in text
    assert "| scaling on lag | not measured yet" in text
    book.runs[0] = run("trimtab", executor_s=400, met=0.9)
    assert "and the goal is not met: **missed**" in markdown(book)
    assert "Spark's defaults" not in markdown(book)
    book.runs.append(run("Spark defaults", met=0.95))
    assert "It is **worse** than Spark's defaults" in markdown(book)
    book.runs.append(run("trimtab, profile latency", p95_s=2.4))
    assert "warm: 1.20 of the p95 of the best static settings (1.25 wanted)" in markdown(book)


def test_repeated_runs_are_told_by_their_mean_and_range(tmp_path: Path) -> None:
    book = Book(tmp_path / "measured.json")
    book.runs = [run("trimtab", repeat=n, p95_s=1.0 + n) for n in range(3)]
    assert "| trimtab | warm, 3 runs | 100.0% | 2.00 s (1.00 s to 3.00 s) |" in markdown(book)


def test_a_flood_is_told_by_its_rate_and_the_settings_that_it_ended_with(tmp_path: Path) -> None:
    book = Book(tmp_path / "measured.json")
    ours = run("trimtab", "flood", rate=900) | {"settings": {"executors": 4, "maxInFlight": 64}}
    book.runs = [ours, run("best static", "flood", rate=1000), run("Spark defaults", "flood")]
    text = markdown(book)
    assert "| trimtab | 1 | 900 | 1.00 | executors 4, maxInFlight 64 |" in text
    assert "0.90 times what the best static settings do (0.9 wanted): met" in text
    assert "From cold to 90% of their rate: never (120 s wanted): **missed**" in text
    ours["batches"] = [[1, 3, 100], [3, 9, 100], [4, 9, 1000], [6, 9, 3000]]
    assert "From cold to 90% of their rate: 3 s (120 s wanted): met" in markdown(book)


def test_each_shape_has_a_picture(tmp_path: Path) -> None:
    for shape in ("step", "flood"):
        picture(
            tmp_path / f"{shape}.png", shape, [run("trimtab", shape), run("best static", shape)]
        )
        assert (tmp_path / f"{shape}.png").stat().st_size > 10_000


@pytest.mark.parametrize("who", [contest.OURS, contest.PROMPT, contest.DEFAULTS, contest.LAG])
def test_a_pipeline_may_have_the_tuning_of_each_contender(who: str, tmp_path: Path) -> None:
    tuning = contest.tuning(Book(tmp_path / "book.json"), who, "latency")
    Tuning.model_validate(tuning)
    if "pinned" in tuning:
        assert parse_duration(tuning["pinned"]["trigger"]) > 0, "the API server wants one"


def test_the_tables_of_a_page_are_written_anew_and_its_words_stay() -> None:
    first = inserted("# Live\n\nWords.\n", "## A table\n\n1")
    assert first == f"# Live\n\nWords.\n\n{MARK}\n\n## A table\n\n1\n"
    assert inserted(first, "## A table\n\n2") == first.replace("1", "2")


def test_what_a_book_lacks_of_grid_and_contest(tmp_path: Path) -> None:
    book = Book(tmp_path / "measured.json")
    assert grid.lacks(book)
    assert contest.lacks(book)
    for goal, points in GRIDS.items():
        book.windows += [
            window(p, goal, p95_s=abs(p.trigger_s - 0.5) + abs(p.calls - 16),
                   rate=1e6 - abs(p.calls - 64) - abs(p.limit - 80_000))
            for p in points
        ]  # fmt: skip
    assert grid.lacks(book), "the best ones are to be repeated"
    for goal in GRIDS:
        best = contest.best(book.windows, goal)
        assert best is not None
        book.windows += [replace(best, repeat=n + 1) for n in range(grid.REPEATS)]
    assert not grid.lacks(book)
    for shape, asked in contest.ASKED:
        book.runs += [run(who, shape, n) for who in asked for n in range(contest.REPEATS)]
    assert not contest.lacks(book)
    whole = book.runs
    book.runs = whole[1:]
    assert contest.lacks(book)
    assert not contest.lacks(book, ["Spark defaults"])
