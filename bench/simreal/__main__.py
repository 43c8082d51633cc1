"""`python -m bench.simreal measure|fit|report`; see docs/benchmarks/simulator.md."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
import yaml
from bench.simreal import campaign, plots
from bench.simreal.fit import Fitted, fit, scenario
from bench.simreal.predict import DURATION_S, compare, medians
from bench.simreal.seen import Measured
from bench.simreal.tables import errors, summary, windows
from dev.localcluster.failures import LocalClusterError
from dev.localcluster.paths import REPO

from bench import commit

FOLDER = REPO / "docs/benchmarks/simulator"
SHOWN = ("p3-busy", "p4-busy", "p3-short")
"""Settings in the picture over time, all predicted: two steady ones and a saturated one."""

data = click.option(
    "--data", type=click.Path(path_type=Path), default=FOLDER / "measured.json",
    help="File of the measurements.",
)  # fmt: skip


@click.group(help=__doc__)
def main() -> None:
    """The simulator against the real driver."""


@main.command()
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="JSON; continued if it exists."
)
def measure(out: Path) -> None:
    """Measure what the file lacks on the local cluster, and leave the cluster running."""
    try:
        campaign.measure(out, commit.head())
    except LocalClusterError as error:
        raise click.ClickException(str(error)) from error


@main.command("fit")
@data
def fit_command(data: Path) -> None:
    """Fit the plant to the measurements and print its parameters."""
    _, fitted, _ = _load(data)
    click.echo(json.dumps(asdict(fitted), indent=1))


@main.command()
@data
@click.option("--out", type=click.Path(path_type=Path), default=FOLDER, help="Folder.")
@click.option("--again", type=click.Path(path_type=Path, exists=True), help="Repeated settings.")
def report(data: Path, out: Path, again: Path | None) -> None:
    """Fit, predict, print the tables, write scenario and pictures; exit 1 if off target."""
    known, fitted, unknown = _load(data)
    base, rest = [compare(fitted, m) for m in known], [compare(fitted, m) for m in unknown]
    found = medians(rest)
    click.echo("\n\n".join([
        f"fitted: {json.dumps(asdict(fitted))}", errors(base), errors(rest), summary(found),
        windows([*known, *unknown]),
    ]))  # fmt: skip
    if again:
        repeated = campaign.read(again)
        click.echo("\n\n".join(
            ["\nagain, by the same fit:", errors([compare(fitted, m) for m in repeated]),
             windows(repeated)]
        ))  # fmt: skip
    by_name = {m.setting.name: m for m in unknown}
    shown = [by_name[name] for name in SHOWN]
    document = scenario(fitted, shown[0].setting, DURATION_S).model_dump(
        mode="json", by_alias=True, exclude_unset=True
    )
    out.mkdir(parents=True, exist_ok=True)
    (out / "fitted.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    plots.scatter(out / "scatter.png", base, rest)
    plots.overlay(out / "overlay.png", fitted, shown)
    if not found.met:
        raise SystemExit(1)


def _load(path: Path) -> tuple[list[Measured], Fitted, list[Measured]]:
    """The measurements for the fit, the fit, and the measurements to predict."""
    measured = campaign.read(path)
    if not measured:
        raise click.ClickException(f"no measurements in {path}: run measure first")
    known = [m for m in measured if m.setting.fitted]
    restarts_s = [m.restart_s for m in measured if m.restart_s]
    return known, fit(known, restarts_s), [m for m in measured if not m.setting.fitted]


if __name__ == "__main__":
    main()
