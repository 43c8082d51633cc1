"""`python -m dev.loadgen produce|verify|ages`: JSON on stdout; verify exits 1 on any difference.

SIGHUP ends the current step of the schedule.
"""

from __future__ import annotations

import argparse
import json
import queue
import signal
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path

from dev.loadgen.ages import measure
from dev.loadgen.produce import parse_schedule, produce
from dev.loadgen.verify import verify


def _take(skips: queue.SimpleQueue[int]) -> bool:
    try:
        skips.get_nowait()
    except queue.Empty:
        return False
    return True


def main() -> int:
    """Parse the command line and run the command."""
    parser = argparse.ArgumentParser(prog="python -m dev.loadgen", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    producing = commands.add_parser("produce", help="produce records by a schedule")
    producing.add_argument("--schedule", required=True, help="SECONDS:RATE,SECONDS:RATE,...")
    producing.add_argument("--size", type=int, default=100, help="bytes per value")
    producing.add_argument("--hot", type=float, default=0.0, help="share sent to partition 0")
    verifying = commands.add_parser("verify", help="read the output of a run and count")
    verifying.add_argument("--summary", type=Path, required=True, help="what produce printed")
    aging = commands.add_parser("ages", help="read input and output of a run, and compare times")
    aging.add_argument("--source", required=True, help="the topic that was produced to")
    aging.add_argument("--skip", type=float, default=0.0, help="seconds at the start to leave out")
    aging.add_argument("--summary", type=Path, required=True, help="what produce printed")
    for command in (producing, verifying, aging):
        command.add_argument("--bootstrap", required=True)
        command.add_argument("--topic", required=True)
    args = parser.parse_args()
    if args.command == "produce":
        schedule = parse_schedule(args.schedule)
        skips: queue.SimpleQueue[int] = queue.SimpleQueue()
        signal.signal(signal.SIGHUP, lambda number, _: skips.put(number))
        skip = partial(_take, skips)
        summary = produce(args.bootstrap, args.topic, schedule, args.size, skip=skip, hot=args.hot)
        sys.stdout.write(json.dumps(summary.document()) + "\n")
        return 0
    told = json.loads(args.summary.read_text())
    if args.command == "ages":
        found = measure(args.bootstrap, (args.source, args.topic), told["run"], args.skip)
        sys.stdout.write(json.dumps(found) + "\n")
        return 0
    verdict = verify(
        args.bootstrap,
        args.topic,
        told["run"],
        told["sequences"],
        frozenset(told["unacknowledged"]),
    )
    sys.stdout.write(json.dumps(asdict(verdict) | {"exact": verdict.exact}) + "\n")
    return 0 if verdict.exact else 1


if __name__ == "__main__":
    sys.exit(main())
