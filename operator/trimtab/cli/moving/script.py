"""What a PySpark script reads, writes and how often, from its text: it is never run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from trimtab.cli.moving.found import NO_PLACE, Found
from trimtab.errors import BadInputError

READ, WRITE = "readStream", "writeStream"
SECURITY = "write source.kafka.tls and source.kafka.authentication (docs/kafka-security.md)"
_READ = (
    "write Pipeline.current().read() in place of it, up to load(), and from trimtab import Pipeline"
)
_WRITE = "write Pipeline.current().write(frame) in place of frame.writeStream, up to start()"
_ONE_SINK = "a pipeline has one sink: import once for each, and write the others by hand"


@dataclass(frozen=True, slots=True)
class Said:
    """One call of a chain: its name, its arguments as far as they are literal, and its line."""

    name: str
    arguments: tuple[object, ...]
    named: Mapping[str, object]
    line: int


class Unknown:
    """A value that only running the script tells; its text."""

    def __init__(self, text: str) -> None:
        self.text = text


Chain = tuple[Said, ...]


def from_script(path: Path) -> Found:
    """What a script says of its source and sink.

    Raises:
        BadInputError: it is no Python.
    """
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        raise BadInputError(f"{path} cannot be read as Python: {error}") from error
    found, chains = Found(), list(_chains(tree))
    reads = [chain for chain in chains if chain[0].name == READ]
    writes = [chain for chain in chains if chain[0].name == WRITE]
    for chain in reads[:1]:
        _source(chain, found)
    for chain in reads[1:]:
        found.note(f"line {chain[0].line}: another stream", "a pipeline has one source")
    if reads and writes:
        found.run(path.name)
        found.note(f"line {reads[0][0].line}: readStream", _READ)
        found.note(f"line {writes[0][0].line}: writeStream", _WRITE)
    for chain in writes[:1]:
        _sink(chain, found)
    for chain in writes[1:]:
        found.note(f"line {chain[0].line}: another query", _ONE_SINK)
    if not reads and not writes:
        found.note(f"{path}", "it neither reads nor writes a stream")
    return found


def _chains(tree: ast.Module) -> Iterator[Chain]:
    """Every chain of calls that begins at readStream or writeStream."""
    constants = _constants(tree)
    known: dict[str, list[Said]] = {}
    inner = {
        id(node.func.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.Expr | ast.Return) and node.value is not None:
            value = node.value
            if isinstance(value, ast.Call) and id(value) not in inner:
                chain = _unwound(value, constants, known)
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    known[node.targets[0].id] = [] if _ended(chain) else chain
                yield from _streams(chain)


def _streams(chain: list[Said]) -> Iterator[Chain]:
    """The reading and the writing part of a chain; each ends where the other begins."""
    starts = [n for n, said in enumerate(chain) if said.name in {READ, WRITE}]
    for start, end in pairwise([*starts, len(chain)]):
        part = tuple(chain[start:end])
        if _ended(part):
            yield part


def _ended(chain: Sequence[Said]) -> bool:
    """Whether it has become a frame or a query."""
    return any(said.name in {"load", "start", "table", "toTable"} for said in chain)


def _unwound(
    node: ast.expr, constants: Mapping[str, object], known: Mapping[str, list[Said]]
) -> list[Said]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        before = _unwound(node.func.value, constants, known)
        arguments = tuple(_value(each, constants) for each in node.args)
        named = {each.arg or "**": _value(each.value, constants) for each in node.keywords}
        return [*before, Said(node.func.attr, arguments, named, node.end_lineno or node.lineno)]
    if isinstance(node, ast.Attribute):
        before = _unwound(node.value, constants, known)
        return [*before, Said(node.attr, (), {}, node.end_lineno or node.lineno)]
    if isinstance(node, ast.Name):
        return list(known.get(node.id, ()))
    return []


def _constants(tree: ast.Module) -> dict[str, object]:
    """Names that are given a literal exactly once."""
    given: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    given.setdefault(target.id, []).append(node.value)
    once = {name: values[0] for name, values in given.items() if len(values) == 1}
    return {
        name: value
        for name, node in once.items()
        if not isinstance(value := _value(node, {}), Unknown)
    }


def _value(node: ast.expr, constants: Mapping[str, object]) -> object:
    if isinstance(node, ast.Name):
        return constants.get(node.id, Unknown(node.id))
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return Unknown(ast.unparse(node))


def _options(chain: Chain) -> dict[str, tuple[object, int]]:
    """All options of a chain with their lines; the last one of a name holds."""
    options: dict[str, tuple[object, int]] = {}
    for said in chain:
        if said.name == "option" and len(said.arguments) == 2:
            options[str(said.arguments[0])] = (said.arguments[1], said.line)
        elif said.name == "options":
            given = dict(said.named)
            spread = given.pop("**", {})
            given |= spread if isinstance(spread, dict) else {}
            options |= {name: (value, said.line) for name, value in given.items()}
    return options


def _argument(chain: Chain, name: str) -> object:
    """The first argument of a call in a chain; None without it."""
    said = next((each for each in reversed(chain) if each.name == name), None)
    return said.arguments[0] if said and said.arguments else None


def _truth(value: object) -> bool:
    return str(value).lower() == "true"


def _topics(value: object) -> list[str]:
    return [topic.strip() for topic in str(value).split(",")]


def _pattern(value: object) -> str:
    """Spark takes a topic that has a match anywhere, a pipeline one that matches as a whole."""
    text = str(value)
    start = "" if text.startswith("^") else ".*"
    end = "" if text.endswith("$") else ".*"
    return f"{start}{text.removeprefix('^').removesuffix('$')}{end}".replace(".*.*", ".*")


_SOURCE: Mapping[str, tuple[str, Callable[[object], object]]] = {
    "kafka.bootstrap.servers": ("source.kafka.bootstrapServers", str),
    "subscribe": ("source.kafka.topics", _topics),
    "subscribePattern": ("source.kafka.topicPattern", _pattern),
    "groupIdPrefix": ("source.kafka.groupIdPrefix", str),
    "startingOffsets": ("source.kafka.startingOffsets", str),
    "failOnDataLoss": ("source.kafka.failOnDataLoss", _truth),
    "includeHeaders": ("source.kafka.includeHeaders", _truth),
    "kafka.isolation.level": ("source.kafka.isolationLevel", str),
    "maxOffsetsPerTrigger": ("tuning.initial.maxOffsetsPerTrigger", lambda v: int(str(v))),
    "minPartitions": ("limits.tasks", lambda v: int(str(v))),
}
_SINK: Mapping[str, tuple[str, Callable[[object], object]]] = {
    "kafka.bootstrap.servers": ("sink.kafka.bootstrapServers", str),
    "topic": ("sink.kafka.topic", str),
}
_ADVICE = {
    "checkpointLocation": "a pipeline has its own; to go on where this one ends, name it with"
    " --checkpoint",
    "assign": "all partitions of source.kafka.topics are read",
}


def _source(chain: Chain, found: Found) -> None:
    kind = _argument(chain, "format")
    if kind != "kafka":
        found.note(f"line {chain[0].line}: the source {kind}", "a pipeline reads Kafka")
        return
    _take(_options(chain), _SOURCE, found)


def _take(
    options: Mapping[str, tuple[object, int]],
    places: Mapping[str, tuple[str, Callable[[object], object]]],
    found: Found,
) -> None:
    for name, (value, line) in options.items():
        where = f"line {line}: {name}"
        if name in places and not isinstance(value, Unknown):
            path, made = places[name]
            found.set(path, made(value))
        elif name in places:
            assert isinstance(value, Unknown)
            found.note(f"{where} = {value.text}", f"write its value into {places[name][0]}")
        elif name.startswith(("kafka.sasl.", "kafka.ssl.", "kafka.security.")):
            found.note(where, SECURITY)
        else:
            found.note(where, _ADVICE.get(name, NO_PLACE))


def _sink(chain: Chain, found: Found) -> None:
    options, kind = _options(chain), _argument(chain, "format")
    place = _argument(chain, "start") or options.get("path", (None, 0))[0]
    function = _argument(chain, "foreachBatch")
    if function is not None:
        named = function.text if isinstance(function, Unknown) else str(function)
        line = chain[0].line
        found.set("sink.foreachBatch.module", f"sink:{named}")
        found.note(f"line {line}: foreachBatch({named})", "move the function into a module sink.py")
    elif kind == "kafka":
        _take({name: said for name, said in options.items() if name in _SINK}, _SINK, found)
    elif kind == "delta" and place is not None:
        found.set("sink.delta.uri", _text(place))
    elif kind in {"parquet", "json", "csv"} and place is not None:
        found.set("sink.files", {"format": kind, "uri": _text(place)})
    else:
        line = chain[0].line
        found.note(f"line {line}: the sink {kind}", "see the sinks that there are (docs/sinks.md)")
    told = {"path", *(_SINK if kind == "kafka" else ())}
    _take({name: said for name, said in options.items() if name not in told}, {}, found)
    _rhythm(chain, found)


def _rhythm(chain: Chain, found: Found) -> None:
    mode = _argument(chain, "outputMode")
    if mode in {"append", "update"}:
        found.set("sink.outputMode", mode)
    elif mode is not None:
        found.note(f"outputMode {mode}", "a pipeline has append and update")
    for said in chain:
        if said.name != "trigger":
            continue
        every = said.named.get("processingTime")
        if isinstance(every, str):
            found.set("tuning.initial.trigger", _duration(every))
            continue
        words = ", ".join(f"{name}={value}" for name, value in said.named.items())
        where = f"line {said.line}: trigger({words})"
        if said.named.get("availableNow") or said.named.get("once"):
            found.set("runs", {})
            found.note(where, "runs.schedule starts it again and again; without one it runs once")
        else:
            found.note(where, "a query has micro-batches")


def _duration(every: str) -> str:
    """Spark's `10 seconds` as `10s`."""
    number, _, unit = every.strip().partition(" ")
    units = {"millisecond": "ms", "second": "s", "minute": "m", "hour": "h"}
    return number + units.get(unit.strip().rstrip("s"), unit)


def _text(value: object) -> str:
    return value.text if isinstance(value, Unknown) else str(value)
