"""The dashboard of one pipeline: its goal, what limits it, and what trimtab does about it."""

from __future__ import annotations

from dev.dashboards.board import Board, Query, Row, steps, variable
from dev.dashboards.panels import (
    BARS,
    NO_YES,
    NONE_IS_GOOD,
    STACKED,
    TRUE_FALSE,
    YES_NO,
    grown,
    lines,
    stat,
    table,
    timeline,
    words,
)

OPERATOR = 'pipeline_namespace="$namespace", pipeline="$pipeline"'
"""Labels of what the operator says of the pipeline."""

DRIVER = 'namespace="$namespace", pipeline="$pipeline"'
"""Labels of what its driver says, which the scrape adds."""

WINDOW = "$__rate_interval"
RUNNING, TOTAL = 'state="running"', 'phase="total"'
PARTS = 'phase=~"planning|latest_offset|add_batch|wal"'
"""Phases that add up to the total; the others are parts of add_batch."""


def said(name: str, labels: str = "", by: str = "") -> str:
    """What the operator says of the pipeline."""
    chosen = ", ".join(filter(None, (OPERATOR, labels)))
    grouped = f" by ({by}) " if by else ""
    return f"max{grouped}(trimtab_pipeline_{name}{{{chosen}}})"


def knob(name: str) -> str:
    """A knob in force, or several whose names match."""
    return said("effective", f'knob=~"{name}"', by="knob")


def driver(name: str, more: str = "") -> str:
    """Series of the driver."""
    return f"trimtab_{name}{{{', '.join(filter(None, (DRIVER, more)))}}}"


def growth(name: str, function: str = "rate", more: str = "") -> str:
    """How fast a counter of the driver grows, or with `increase` by how much."""
    return f"{function}({driver(name, more)}[$__rate_interval])"


def _now() -> Row:
    return Row(4, (
        stat("Goal met", "Whether the goal is met.",
             Query(said("condition", 'type="GoalMet"')), 3, fields=YES_NO),
        stat("Load", "Of the last decision: 1 is exactly what the goal allows.",
             Query(said("load_ratio")), 3, unit="percentunit",
             fields=steps((None, "green"), (0.85, "orange"), (1, "red"))),
        words("Regime", "Where the load is between the bounds.",
              Query(said("regime_info", by="regime"), "{{regime}}"), 3),
        words("Mode", "What the tuner may do.", Query(said("mode_info", by="mode"), "{{mode}}"), 3),
        stat("Lag", "Age of the oldest record that waits.",
             Query(said("lag_seconds")), 3, unit="s"),
        stat("Executors", "Executors that run.",
             Query(f"max({driver('executors', RUNNING)})"), 3),
        stat("Cores", "Task slots of the executors that the settings ask for.",
             Query(said("executor_cores")), 3),
        stat("On trial", "Whether a change is on trial.", Query(said("trial_open")), 3,
             fields=NO_YES),
    ))  # fmt: skip


def _goal() -> tuple[Row, ...]:
    return (
        Row(9, (
            lines(
                "Latency", "What is held against the goal, and the goal.",
                Query(said("goal_seconds"), "goal"), Query(said("observed_seconds"), "observed"),
                unit="s",
            ),
            lines(
                "Load", "Between the bounds nothing moves; 1 is exactly what the goal allows.",
                Query(said("load_ratio"), "load"),
                Query(said("load_bound_ratio", by="bound"), "{{bound}} bound"),
                unit="percentunit",
            ),
        )),
        Row(8, (
            lines(
                "Records", "Input over a minute, what is committed, and the rate of a goal.",
                Query(said("observed_records_per_second"), "input"),
                Query(f"sum({growth('records_total')})", "committed"),
                Query(said("goal_records_per_second"), "goal"),
                unit="cps", width=6,
            ),
            lines(
                "Lag in time", "Age of the oldest record that waits.",
                Query(said("lag_seconds"), "lag"), unit="s", width=6,
            ),
            lines(
                "Lag in records", "Records that are not yet committed.",
                Query(f"sum({driver('lag_records')})", "lag"), width=6,
            ),
            lines(
                "Retention deadline", "Until Kafka deletes the first unread record.",
                Query(said("retention_deadline_seconds"), "deadline"), unit="s", width=6,
            ),
        )),
    )  # fmt: skip


def _settings() -> tuple[Row, ...]:
    return (
        Row(8, (
            lines(
                "Executors", "Asked for, there, and on their way.",
                Query(f"max by (state) ({driver('executors')})", "{{state}}"), width=8,
            ),
            lines(
                "Slots", "Task slots in use, and what their time goes to.",
                Query(f"max({driver('slots_busy_ratio')})", "busy"),
                Query(f"max({driver('cpu_ratio')})", "on a CPU"),
                Query(f"max({driver('gc_ratio')})", "collecting garbage"),
                unit="percentunit", width=8,
            ),
            lines(
                "Trigger", "Time between the starts of two batches, and what a batch takes.",
                Query(knob("trigger"), "trigger"),
                Query(f"max({driver('batch_duration_seconds', TOTAL)})", "last batch"),
                unit="s", width=8,
            ),
        ), title="Settings"),
        Row(8, (
            lines(
                "Batch limit", "Records that a batch may have, and those of the last one.",
                Query(knob("maxOffsetsPerTrigger"), "limit"),
                Query(f"max({driver('batch_records')})", "last batch"), width=8,
            ),
            lines(
                "In flight", "Calls of a stage and requests of the producer that may wait at once,"
                " and the most calls that did.",
                Query(knob("maxInFlight|producer[.]maxInFlight"), "{{knob}}"),
                Query(f"max by (stage) ({driver('pending_calls')})", "calls of {{stage}}"), width=8,
            ),
            lines(
                "Time in phases", "What the time of batches goes to, in each second.",
                Query(f"sum by (phase) ({growth('phase_seconds_total', more=PARTS)})",
                      "{{phase}}"),
                unit="s", width=8, custom=STACKED,
            ),
        )),
    )  # fmt: skip


def _tuning() -> tuple[Row, ...]:
    decided = grown(f"trimtab_operator_decisions_total{{{OPERATOR}}}", WINDOW)
    return (
        Row(8, (
            lines(
                "Decisions", "What trimtab did, with the reasons; a change is on trial until it is"
                " kept or reverted.",
                Query(f"sum by (action, reason) {decided}", "{{action}} {{reason}}"),
                width=8, custom=BARS,
            ),
            timeline(
                "Trials", "When a change was on trial.",
                Query(said("trial_open"), "on trial"), 8, fields=NO_YES,
            ),
            lines(
                "Pauses", "Time without commits because of changes.",
                Query(f"sum by (how) {grown(driver('pause_seconds_total'), WINDOW)}", "{{how}}"),
                unit="s", width=8, custom=BARS,
            ),
        ), title="Tuning"),
        Row(9, (
            timeline(
                "Conditions", "The conditions of the pipeline's status.",
                Query(said("condition", by="type"), "{{type}}"), fields=TRUE_FALSE,
            ),
            timeline(
                "Bottleneck", "What limits the pipeline while the load is above the bounds.",
                Query(said("bottleneck_info", by="kind"), "{{kind}}"),
            ),
        )),
        Row(8, (
            table(
                "Knobs", "In force, and as a change that waits for approval would set them.",
                {
                    "in force": Query(said("effective", by="knob")),
                    "recommended": Query(said("recommended", by="knob")),
                }, 8,
            ),
            lines(
                "Advice", "Load as it is, and as the recommendation would make it.",
                Query(said("load_ratio"), "load"),
                Query(said("recommendation_load_ratio"), "as recommended"),
                unit="percentunit", width=8,
            ),
            lines(
                "Checks of advice", "How often the goal was held in checks of a recommendation.",
                Query(said("advice_asked"), "checks"),
                Query(said("advice_held", by="by"), "held: {{by}}"), width=8,
            ),
        )),
    )  # fmt: skip


def _records() -> Row:
    wrong = (("ledger_mismatch_total", "mismatch"), ("late_records_total", "late"),
             ("skipped_records_total", "skipped"))  # fmt: skip
    return Row(7, (
        stat("Ledger mismatch", "Records that were read and not written, or the reverse, in the"
             " chosen time.", Query(f"sum(increase({driver('ledger_mismatch_total')}[$__range]))"),
             6, fields=NONE_IS_GOOD),
        stat("Missing", "Records of committed batches that the sink does not have.",
             Query(f"max({driver('missing_records')})"), 6, fields=NONE_IS_GOOD),
        lines(
            "Records that went wrong", "Mismatches of the ledger, late rows, and offsets without a"
            " record.",
            *(Query(f"sum({growth(name, 'increase')})", word) for name, word in wrong),
            custom=BARS,
        ),
    ), title="Records")  # fmt: skip


def board() -> Board:
    """The whole dashboard."""
    condition = "trimtab_pipeline_condition"
    chosen = f'{condition}{{pipeline_namespace="$namespace"}}'
    return Board(
        "trimtab-pipeline", "trimtab / pipeline", "One pipeline.",
        [
            variable("namespace", "Namespace", f"label_values({condition}, pipeline_namespace)"),
            variable("pipeline", "Pipeline", f"label_values({chosen}, pipeline)"),
        ],
        [_now(), *_goal(), *_settings(), *_tuning(), _records()],
    )  # fmt: skip
