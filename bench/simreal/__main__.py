"""`python -m bench.simreal measure|fit|report`; see docs/benchmarks/simulator.md."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from pathlib import Path

import click
import yaml
from bench.simreal import campaign, plots
from bench.simreal.fit import Fitted, fit, scenario
from bench.simreal.predict import DURATION_S, compare, medians, summary, table
from bench.simreal.seen import Measured
from dev.localcluster.failures import LocalClusterError
from dev.localcluster.paths import REPO

FOLDER = REPO / "docs/benchmarks/simulator"
SHOWN = ("p2-busy", "p3-short")
"""Settings of the picture over time: a steady one and a saturated one, both predicted."""

data = click.option(
    "--data", type=click.Path(path_type=Path), default=FOLDER / "measured.json",
    help="What was measured.",
)  # fmt: skip


@click.group(help=__doc__)
def main() -> None:
    """The simulator against the real driver."""


@main.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="JSON; it is resumed.")
def measure(out: Path) -> None:
    """Measure on the local cluster what the file lacks; the cluster is left up."""
    head = ["git", "-C", str(REPO), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()
    try:
        campaign.measure(out, commit)
    except LocalClusterError as error:
        raise click.ClickException(str(error)) from error


@main.command("fit")
@data
def fit_command(data: Path) -> None:
    """Fit the plant on the four settings and print its parameters."""
    _, fitted, _ = _load(data)
    click.echo(json.dumps(asdict(fitted), indent=1))


@main.command()
@data
@click.option("--out", type=click.Path(path_type=Path), default=FOLDER, help="Folder.")
def report(data: Path, out: Path) -> None:
    """Fit, predict, print the tables, and write scenario and pictures; exit 1 off target."""
    known, fitted, unknown = _load(data)
    base, rest = [compare(fitted, m) for m in known], [compare(fitted, m) for m in unknown]
    found = medians(rest)
    click.echo("\n\n".join([
        f"fitted: {json.dumps(asdict(fitted))}", table(base), table(rest), summary(found),
    ]))  # fmt: skip
    by_name = {m.setting.name: m for m in unknown}
    steady, full = (by_name[name] for name in SHOWN)
    document = scenario(fitted, steady.setting, DURATION_S).model_dump(
        mode="json", by_alias=True, exclude_unset=True
    )
    out.mkdir(parents=True, exist_ok=True)
    (out / "fitted.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    plots.scatter(out / "scatter.png", base, rest)
    plots.overlay(out / "overlay.png", fitted, steady, full)
    if not found.met:
        raise SystemExit(1)


def _load(path: Path) -> tuple[list[Measured], Fitted, list[Measured]]:
    """What was measured to fit on, the fit, and what was measured to predict."""
    measured = campaign.read(path)
    if not measured:
        raise click.ClickException(f"no measurements in {path}: run measure first")
    known = [m for m in measured if m.setting.fitted]
    return known, fit(known), [m for m in measured if not m.setting.fitted]


if __name__ == "__main__":
    main()
