"""The dashboard of all pipelines: which goals are met, and who needs somebody."""

from __future__ import annotations

from dev.dashboards.board import Board, Panel, Query, Row, steps, variable
from dev.dashboards.panels import (
    BARS,
    BY,
    NONE_IS_GOOD,
    STACKED,
    YES_NO,
    column,
    grown,
    lines,
    painted,
    ranking,
    stat,
    table,
)

WHERE = 'pipeline_namespace=~"$namespace"'
ALERT = 'alertname=~"Trimtab.+", namespace=~"$namespace|"'
"""Alerts of the chosen namespaces, and those without one, which are the operator's."""

FIRING = f'ALERTS{{{ALERT}, alertstate="firing"}}'
PIPELINE = "{{pipeline_namespace}}/{{pipeline}}"


def of(name: str, labels: str = "") -> str:
    """A figure of each chosen pipeline."""
    chosen = ", ".join(filter(None, (WHERE, labels)))
    return f"max {BY} (trimtab_pipeline_{name}{{{chosen}}})"


def condition(name: str) -> str:
    """1 or 0 for each chosen pipeline."""
    return of("condition", f'type="{name}"')


def decisions(actions: str, window: str) -> str:
    """How many decisions were reported in a window."""
    series = f'trimtab_operator_decisions_total{{{WHERE}, action=~"{actions}"}}'
    return grown(series, window)


def _now() -> Row:
    known = condition("Stalled")
    return Row(4, (
        stat("Pipelines", "Pipelines that the operator looks after.", Query(f"count({known})")),
        stat(
            "Goals met", "Share of the pipelines that meet their goal, of those that know.",
            Query(f"avg({condition('GoalMet')})"), unit="percentunit",
            fields=steps((None, "red"), (0.9, "orange"), (1, "green")),
        ),
        stat(
            "Goals missed", "Pipelines that miss their goal.",
            Query(f"count({condition('GoalMet')} == 0) or vector(0)"), fields=NONE_IS_GOOD,
        ),
        stat(
            "Saturated", "Pipelines that no setting within their limits helps.",
            Query(f"sum({condition('Saturated')})"), fields=NONE_IS_GOOD,
        ),
        stat(
            "Stalled", "Pipelines that cannot go on without somebody.", Query(f"sum({known})"),
            fields=NONE_IS_GOOD,
        ),
        stat(
            "Alerts", "Alerts of trimtab that fire.",
            Query(f"count({FIRING}) or vector(0)"),
            fields=NONE_IS_GOOD,
        ),
    ))  # fmt: skip


def _pipelines() -> Panel:
    link = {
        "title": "this pipeline",
        "url": "/d/trimtab-pipeline?var-datasource=${datasource}"
        "&var-namespace=${__data.fields.namespace}&var-pipeline=${__data.fields.pipeline}",
    }
    info = "by (pipeline_namespace, pipeline, {0}) (trimtab_pipeline_{0}_info{{{1}}})"
    return table(
        "Pipelines", "One line each; the name leads to its own dashboard.",
        {
            "goal met": Query(condition("GoalMet")),
            "_mode": Query("max " + info.format("mode", WHERE)),
            "load": Query(of("load_ratio")),
            "_regime": Query("max " + info.format("regime", WHERE)),
            "cores": Query(of("executor_cores")),
            "executors": Query(of("effective", 'knob="executors"')),
            "lag": Query(of("lag_seconds")),
        },
        24,
        overrides=(
            column("pipeline", links=[link]),
            column("goal met", mappings=YES_NO["mappings"], custom_cellOptions={
                "type": "color-text",
            }),
            column("load", unit="percentunit", decimals=0),
            column("lag", unit="s"),
        ),
    )  # fmt: skip


def _over_time() -> tuple[Row, ...]:
    return (
        Row(8, (
            lines(
                "Goals", "Pipelines that meet their goal, and that miss it.",
                Query(f"sum({condition('GoalMet')})", "met"),
                Query(f"count({condition('GoalMet')} == 0) or vector(0)", "missed"),
                width=8, custom=STACKED, overrides=(painted("met", "green"),
                                                    painted("missed", "red")),
            ),
            lines(
                "Changes", "Decisions that changed something, kept a change or took it back.",
                Query(f"sum by (action) {decisions('Change|Keep|Revert', '$__rate_interval')}",
                      "{{action}}"),
                width=8, custom=BARS,
            ),
            lines(
                "Cores", "Task slots of the executors that the settings ask for.",
                Query(f"sum by (pipeline_namespace) ({of('executor_cores')})",
                      "{{pipeline_namespace}}"),
                width=8, custom=STACKED,
            ),
        )),
        Row(8, (
            ranking(
                "Highest load", "1 is exactly what the goal allows.",
                Query(f"topk(10, {of('load_ratio')})", PIPELINE), unit="percentunit",
                fields=steps((None, "green"), (0.85, "orange"), (1, "red")),
            ),
            ranking(
                "Longest lag", "Age of the oldest record that waits.",
                Query(f"topk(10, {of('lag_seconds')})", PIPELINE), unit="s",
            ),
            ranking(
                "Most changes", "Changes of the last hour.",
                Query(f"topk(10, sum {BY} {decisions('Change', '1h')})", PIPELINE), unit="none",
            ),
        )),
    )  # fmt: skip


def _operator() -> Row:
    tick = "trimtab_operator_tick_duration_seconds_bucket[$__rate_interval]"
    return Row(7, (
        lines(
            "Tick", "Duration of a control tick, and the time since the last one ended.",
            Query(f"histogram_quantile(0.95, sum by (le) (rate({tick})))", "95 % take at most"),
            Query("max(trimtab_operator_last_tick_age_seconds)", "since the last one"),
            width=8, unit="s",
        ),
        lines(
            "Writes", "Writes to the API server in a second.",
            Query("sum(rate(trimtab_operator_writes_total[$__rate_interval]))", "writes"),
            width=8, unit="wps",
        ),
        lines(
            "Direct reads", "Drivers that the operator reads itself in a second.",
            Query("sum by (outcome) (rate(trimtab_operator_driver_reads_total[$__rate_interval]))",
                  "{{outcome}}"),
            width=8, unit="rps",
        ),
    ), title="Operator")  # fmt: skip


def board() -> Board:
    """The whole dashboard."""
    alerts = table(
        "Alerts",
        "The alerts of trimtab that are pending or firing.",
        # some say the namespace of their pipeline twice
        {"_firing": Query(f"max without (pipeline_namespace) (ALERTS{{{ALERT}}})")},
        24,
    )
    namespaces = "label_values(trimtab_pipeline_condition, pipeline_namespace)"
    return Board(
        "trimtab-fleet", "trimtab / fleet", "All pipelines that trimtab looks after.",
        [variable("namespace", "Namespace", namespaces, many=True)],
        [_now(), Row(9, (_pipelines(),)), Row(6, (alerts,)), *_over_time(), _operator()],
    )  # fmt: skip
