"""Which broker is replaced next. Pure.

A broker is replaced for two reasons: it lacks an edit of the spec, or somebody has consented to
the revision that the operator would make now. One goes at a time, and only while all others are in
sync, so that every partition keeps all its copies but one.
"""

from __future__ import annotations

from trimtab.reconcile.observe.brokers import Broker, Brokers


def outdated(brokers: Brokers, choices: str, consent: str | None) -> tuple[Broker, ...]:
    """The brokers that are to be replaced: `choices` are the spec's, `consent` is to a revision.

    What an older operator made lacks no edit that is known.
    """
    agreed = consent is not None and consent == brokers.revision
    return tuple(
        broker
        for broker in brokers.found
        if broker.choices not in {None, choices} or (agreed and broker.revision != brokers.revision)
    )


def waiting(brokers: Brokers, choices: str, consent: str | None) -> tuple[Broker, ...]:
    """The brokers of an older revision that nobody has asked to replace."""
    going = outdated(brokers, choices, consent)
    return tuple(
        broker
        for broker in brokers.found
        if brokers.revision and broker.revision != brokers.revision and broker not in going
    )


def next_one(brokers: Brokers, choices: str, consent: str | None) -> Broker | None:
    """The broker to replace now, the last ordinal first; None if there is none, or not yet.

    One that does not serve goes at once: nothing is lost, and it may be what the edit mends. One
    that serves without being in sync goes before those that are.
    """
    if not brokers.revision or brokers.choices != choices:
        return None  # a new pod would be made as the old one was
    going = [b for b in reversed(outdated(brokers, choices, consent)) if not b.terminating]
    idle = [broker for broker in going if not broker.started]
    if idle:
        return idle[0]
    missing = brokers.replicas - len(brokers.found)
    down = [broker for broker in brokers.found if not broker.up]
    if missing or len(down) > 1:
        return None
    if down:
        return down[0] if down[0] in going else None
    return going[0] if going else None


def all_run(brokers: Brokers, choices: str) -> bool:
    """Whether all brokers are in sync, and run what the spec chooses."""
    same = all(broker.choices == choices for broker in brokers.found)
    return same and brokers.ready == brokers.replicas
