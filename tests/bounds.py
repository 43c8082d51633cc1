"""What a spec may not say, with the words of the refusal, and what lies just within the bounds.

Tried at the first door in tests/apiserver/test_crds.py and in the models in
tests/unit/api/test_bounds.py.
"""

from __future__ import annotations

import copy
from typing import Any

Manifest = dict[str, Any]
Row = tuple[str, Any, str]
"""A dotted path, the value there, and words of the message."""


def change(manifest: Manifest, path: str, value: Any) -> Manifest:
    """The manifest with the value at a dotted path replaced; None removes it.

    Under the path `spec`, the value maps paths below it to values.
    """
    if path == "spec":
        for field, wrong in value.items():
            manifest = change(manifest, f"spec.{field}", wrong)
        return manifest
    changed = copy.deepcopy(manifest)
    *parents, last = path.split(".")
    node: Any = changed
    for part in parents:
        node = node[int(part)] if part.isdigit() else node.setdefault(part, {})
    if value is None:
        node.pop(last)
    else:
        node[int(last) if last.isdigit() else last] = value
    return changed


LOOP = "would read what it writes"

TOO_LITTLE_MEMORY = "limits.memory is less than limits.executors.min needs, or than one executor"
TOO_FEW_CORES = "limits.cores is less than limits.executors.min needs, or than one executor"

FROM_SECRET = {"secretKeyRef": {"name": "s3", "key": "access-key"}}
JDBC = {
    "url": "jdbc:postgresql://warehouse:5432/shop?sslmode=require",
    "table": "public.Orders",
    "keys": ["order_id"],
    "username": "trimtab",
    "passwordSecret": {"secretName": "warehouse", "password": "password"},
}
LAKE = {"uri": "s3a://lake/orders", "partitionBy": ["day"]}

VOLUMES: list[Manifest] = [
    {
        "name": "store",
        "mountPath": "/mnt/store",
        "secret": {"secretName": "store", "items": [{"key": "ca.jks", "path": "trust.jks"}]},
    },
    {"name": "lookup", "mountPath": "/mnt/lookup", "configMap": {"name": "lookup"}},
    {"name": "cache", "mountPath": "/mnt/cache", "emptyDir": {}},
    {
        "name": "models",
        "mountPath": "/mnt/models",
        "persistentVolumeClaim": {"claimName": "models", "readOnly": True},
    },
    {
        "name": "state",
        "mountPath": "/home/app/.state",
        "persistentVolumeClaim": {"claimName": "state"},
    },
]


def volume(path: str = "/mnt/x", name: str = "x", **source: Any) -> Manifest:
    """One volume; without a source an empty one."""
    return {"name": name, "mountPath": path} | (source or {"emptyDir": {}})


TAKEN_PATH = "mountPath is, holds or lies below a path of trimtab's or of the image's"
ONE_KIND = "write exactly one of secret, configMap, emptyDir and persistentVolumeClaim"
VOLUMES_REFUSED: tuple[Row, ...] = (
    *(
        ("spec.volumes", [volume(path)], TAKEN_PATH)
        for path in (
            "/tmp",
            "/tmp/mine",
            "/etc",
            "/etc/trimtab",
            "/etc/trimtab/secrets/x",
            "/opt",
            "/opt/spark/jars",
            "/opt/entrypoint.sh",
            "/var",
            "/var/run/secrets",
            "/usr/lib",
            "/var/lib/trimtab/checkpoint",
            "/var/data/spark-local-dir-1",
        )
    ),
    *(
        ("spec.volumes", [volume(path)], "mountPath")
        for path in ("/", "mnt", "/mnt/", "/mnt//x", "/mnt/../tmp", "/mnt/./x", "/mnt/a:b", "")
    ),
    ("spec.volumes", [{"name": "x", "mountPath": "/mnt/x"}], ONE_KIND),
    ("spec.volumes", [volume(emptyDir={}, configMap={"name": "c"})], ONE_KIND),
    ("spec.volumes", [volume(hostPath={"path": "/"})], "hostPath"),
    ("spec.volumes", [volume(csi={"driver": "d"})], "csi"),
    ("spec.volumes", [volume(emptyDir={"medium": "Memory"})], "medium"),
    ("spec.volumes", [volume(emptyDir={"sizeLimit": "0"})], "sizeLimit"),
    ("spec.volumes", [volume(secret={"secretName": "s", "items": []})], "items"),
    (
        "spec.volumes",
        [volume(secret={"secretName": "s", "items": [{"key": "k", "path": "../k"}]})],
        "path",
    ),
    ("spec.volumes", [volume("/mnt/a"), volume("/mnt/b")], "volumes has one name twice"),
    ("spec.volumes", [volume(name="a"), volume(name="b")], "volumes has one mountPath twice"),
    ("spec.volumes", [volume(f"/mnt/{n}", f"v{n}") for n in range(9)], "at most 8 items"),
)
VOLUMES_TAKEN: tuple[tuple[str, Any], ...] = (
    ("spec.volumes", VOLUMES),
    ("spec.volumes", [volume(f"/mnt/{n}", f"v{n}") for n in range(8)]),
    ("spec.volumes", [volume("/etc/ssl/certs")]),
    ("spec.volumes", [volume("/optional"), volume("/etc/trimtab2", "y"), volume("/tmpfs", "z")]),
)

IDENTITY = {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/x"}}
ACCOUNT_REFUSED: tuple[Row, ...] = (
    (
        "spec.serviceAccount",
        {"annotations": {"trimtab.dev/applied-hash": "x"}},
        "are reserved: choose another key",
    ),
    ("spec.serviceAccount", {"name": "mine"}, "name"),
    ("spec.serviceAccountName", "mine", "serviceAccountName"),
)

ROLES_REFUSED: tuple[Row, ...] = (
    *(
        ("spec.podTemplate", {role: {"labels": {"trimtab.dev/pipeline": "x"}}}, "are reserved")
        for role in ("driver", "executor")
    ),
    ("spec.podTemplate", {"driver": {"imagePullPolicy": "Never"}}, "imagePullPolicy"),
    ("spec.podTemplate", {"executors": {}}, "executors"),
    ("spec.podTemplate", {"executor": {"hostNetwork": True}}, "hostNetwork"),
    ("spec.podTemplate", {"nodeSelector": {"a": "b"}}, "nodeSelector"),
    ("spec.podTemplate", {"driver": {"topologySpreadConstraints": []}}, "topologySpread"),
    (
        "spec.podTemplate",
        {"executor": {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "zone"}]}},
        "maxSkew",
    ),
)
ROLES_TAKEN: tuple[tuple[str, Any], ...] = (
    (
        "spec.podTemplate",
        {
            "driver": {"nodeSelector": {"lifecycle": "on-demand"}, "priorityClassName": "high"},
            "executor": {
                "nodeSelector": {"lifecycle": "spot"},
                "tolerations": [{"key": "spot", "operator": "Exists"}],
                "topologySpreadConstraints": [{"topologyKey": "topology.kubernetes.io/zone"}],
            },
        },
    ),
    ("spec.podTemplate", {"driver": {"tolerations": [], "affinity": {}}}),
)

NO_FILE = "eventLog.uri is in a folder of the pod, which goes with it"
MOUNTED = [{"name": "e", "mountPath": "/mnt/e", "persistentVolumeClaim": {"claimName": "e"}}]
EVENT_LOG_REFUSED: tuple[Row, ...] = (
    ("spec.eventLog", {"uri": "file:///mnt/events"}, NO_FILE),
    ("spec", {"eventLog": {"uri": "file:///mnt/events"}, "volumes": MOUNTED}, NO_FILE),
    ("spec", {"eventLog": {"uri": "file:///mnt/x"}, "volumes": [volume()]}, NO_FILE),
)
EVENT_LOG_TAKEN: tuple[tuple[str, Any], ...] = (
    ("spec.eventLog", {"uri": "s3a://bucket/events"}),
    ("spec.eventLog", {"uri": "abfss://events@lake.dfs.core.windows.net/clicks"}),
    ("spec.eventLog", {"uri": "hdfs://namenode:8020/events/"}),
    ("spec", {"eventLog": {"uri": "file:///mnt/e"}, "volumes": MOUNTED}),
    ("spec", {"eventLog": {"uri": "file:///mnt/e/clicks"}, "volumes": MOUNTED}),
)

PASSWORD = {"secretName": "s", "password": "p"}
SCRAM = {"type": "scram-sha-512", "username": "u", "passwordSecret": PASSWORD}
OAUTH = {
    "type": "oauthbearer", "tokenEndpointUri": "https://issuer/token", "clientId": "c",
    "clientSecret": {"secretName": "s", "key": "k"},
}  # fmt: skip
PAIR = {"secretName": "s", "certificate": "tls.crt", "key": "tls.key"}
AUTHORITY = [{"secretName": "s", "certificate": "ca.crt"}]


def secured(authentication: Any, tls: Any = None, **more: Any) -> dict[str, Any]:
    """A source with this login, over TLS unless there is none."""
    kafka = {"bootstrapServers": "k:9093", "topics": ["clicks"], "authentication": authentication}
    return kafka | ({} if tls is False else {"tls": tls or {}}) | more


BY_NAME = "authentication scram-sha-512 or scram-sha-256 or plain takes username and passwordSecret"
BY_TOKEN = "authentication oauthbearer takes tokenEndpointUri, clientId, clientSecret"
UNLOGGED = (
    (SCRAM | {"username": None}, BY_NAME),
    ({"type": "plain", "username": "u"}, BY_NAME),
    ({"type": "scram-sha-256"}, BY_NAME),
    (SCRAM | {"clientId": "c"}, BY_NAME),
    ({"type": "tls"}, "authentication tls takes certificateAndKey: {secretName, certificate, key}"),
    ({"type": "tls", "certificateAndKey": PAIR, "username": "u"}, "authentication tls takes"),
    (OAUTH | {"tokenEndpointUri": None}, BY_TOKEN),
    (OAUTH | {"tokenEndpointUri": "issuer"}, "tokenEndpointUri"),
    (OAUTH | {"tokenEndpointUri": "https://issuer/${env:HOME}"}, "tokenEndpointUri"),
    (OAUTH | {"clientSecret": None}, BY_TOKEN),
    (OAUTH | {"passwordSecret": PASSWORD}, BY_TOKEN),
    ({"type": "aws-msk-iam", "username": "u"}, "aws-msk-iam takes no further field"),
    ({"type": "kerberos"}, "scram-sha-512"),
    (SCRAM | {"username": "${env:HOME}"}, "write the text itself instead of ${...}"),
    (SCRAM | {"username": 'u" x="y'}, "username"),
    (SCRAM | {"password": "p"}, "password"),
)
"""A login, and words of why it is refused."""

NEEDS_TLS = "authentication needs tls, or its secrets would be sent in the open"
SECURED_REFUSED: tuple[Row, ...] = (
    *(
        ("spec.source.kafka", secured({k: v for k, v in login.items() if v is not None}), words)
        for login, words in UNLOGGED
    ),
    ("spec.source.kafka", secured(SCRAM | {"type": "plain"}, tls=False), NEEDS_TLS),
    ("spec.source.kafka", secured(OAUTH, tls=False), NEEDS_TLS),
    ("spec.source.kafka", secured({"type": "aws-msk-iam"}, tls=False), NEEDS_TLS),
    (
        "spec.sink.kafka",
        {"bootstrapServers": "k:9093", "topic": "out", "authentication": {"type": "tls"}},
        "authentication tls takes certificateAndKey",
    ),
    ("spec.sink.kafka.tls", {}, "the KafkaCluster says whether there are TLS and logins"),
    (
        "spec.source.kafka.authentication",
        SCRAM,
        "the KafkaCluster says whether there are TLS and logins",
    ),
    (
        "spec.source.kafka",
        secured(SCRAM, tls={"trustedCertificates": [{"secretName": "S_", "certificate": "c"}]}),
        "secretName",
    ),
    (
        "spec.source.kafka",
        secured(SCRAM, tls={"trustedCertificates": [{"secretName": "s", "certificate": "../c"}]}),
        "certificate",
    ),
)
SECURED_TAKEN: tuple[tuple[str, Any], ...] = (
    ("spec.source.kafka", secured(SCRAM)),
    ("spec.source.kafka", secured(SCRAM, tls=False)),
    ("spec.source.kafka", secured(SCRAM | {"username": "$ConnectionString", "type": "plain"})),
    ("spec.source.kafka", secured({"type": "tls", "certificateAndKey": PAIR})),
    ("spec.source.kafka", secured(OAUTH | {"scope": "a b", "tlsTrustedCertificates": AUTHORITY})),
    ("spec.source.kafka", secured({"type": "aws-msk-iam"}, tls={"trustedCertificates": AUTHORITY})),
    ("spec.sink.kafka", {"bootstrapServers": "k:9093", "topic": "out", "tls": {}}),
)

STRIMZI = {"strimzi": {"name": "events", "listener": "tls", "user": "clicks"}}
ONE_WAY = "write exactly one of cluster: <name of a KafkaCluster here>, strimzi"
STRIMZI_REFUSED: tuple[Row, ...] = (
    ("spec.source.kafka", {"topics": ["clicks"]}, ONE_WAY),
    ("spec.source.kafka", STRIMZI | {"topics": ["clicks"], "cluster": "events"}, ONE_WAY),
    ("spec.sink.kafka", STRIMZI | {"topic": "out", "bootstrapServers": "k:9092"}, ONE_WAY),
    ("spec.sink.kafka", STRIMZI | {"topic": "out", "tls": {}}, "remove tls and authentication"),
    ("spec.source.kafka", {"topics": ["clicks"], "strimzi": {"name": "events"}}, "listener"),
    (
        "spec",
        {
            "source.kafka": STRIMZI | {"topics": ["views", "clicks"]},
            "sink.kafka": {"strimzi": {"name": "events", "listener": "plain"}, "topic": "clicks"},
        },
        LOOP,
    ),
)

ONE_KAFKA = {"bootstrapServers": "k:9092"}
BY_PATTERN = ONE_KAFKA | {"topicPattern": "clicks(-[a-z]+)?"}
NAMED_ONCE = "write either topics: [clicks], or topicPattern: clicks-.*"
ITS_OPTIONS = "metadata.max.age.ms"
TOPICS_REFUSED: tuple[Row, ...] = (
    ("spec.source.kafka", ONE_KAFKA, NAMED_ONCE),
    ("spec.source.kafka", ONE_KAFKA | {"topics": []}, NAMED_ONCE),
    ("spec.source.kafka", BY_PATTERN | {"topics": ["clicks"]}, NAMED_ONCE),
    ("spec.source.kafka", BY_PATTERN | {"topicPattern": "clicks["}, "write a regular expression"),
    ("spec.source.kafka", BY_PATTERN | {"topicPattern": "(?i)a"}, "write a regular expression"),
    ("spec.source.kafka", BY_PATTERN | {"topicPattern": r"\d"}, "topicPattern"),
    ("spec", {"source.kafka": BY_PATTERN, "sink.kafka": ONE_KAFKA | {"topic": "clicks-a"}}, LOOP),
    ("spec", {"source.kafka": BY_PATTERN, "deadLetters": {"topic": "clicks-b"}}, "forever"),
    ("spec.sink.kafka.options", {"acks": "0"}, "options takes buffer.memory, connections"),
    ("spec.sink.kafka.options", {"max.request.size": "5 MB"}, "max.request.size"),
    ("spec.source.kafka.options", {"max.request.size": "5"}, f"{ITS_OPTIONS}, receive.buffer"),
    ("spec.source.kafka.options", {"fetch.max.bytes": "5"}, "options takes connections.max.idle"),
)

RECORD = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]}'
REGISTRY = {"url": "https://registry:8081"}
LOGIN = {"username": "u", "passwordSecret": PASSWORD}


MESSAGES = {"descriptorSet": "CgA=", "message": "shop.v1.Order"}


def avro(**registry: Any) -> dict[str, Any]:
    """A format with a registry."""
    return {"avro": {"schema": RECORD, "schemaRegistry": REGISTRY | registry}}


FORMATS_REFUSED: tuple[Row, ...] = tuple(
    ("spec.source.kafka.format", value, words)
    for value, words in (
        ({}, "write exactly one format: json"),
        ({"json": {"schema": "id STRING"}, "avro": {"schema": RECORD}}, "write exactly one format"),
        ({"xml": {}}, "xml"),
        ({"json": {}}, "schema"),
        ({"protobuf": MESSAGES, "avro": {"schema": RECORD}}, "write exactly one format"),
        ({"protobuf": {"message": "shop.Order"}}, "descriptorSet"),
        ({"protobuf": MESSAGES | {"descriptorSet": "{}"}}, "descriptorSet"),
        ({"protobuf": MESSAGES | {"message": "shop Order"}}, "message"),
        ({"avro": {}}, "schema"),
        ({"avro": {"schemaRegistry": REGISTRY}}, "schema"),
        ({"json": {"schema": ""}}, "json.schema"),
        ({"json": {"schema": RECORD}}, "write the fields and types in Spark's DDL"),
        ({"avro": {"schema": "id STRING"}}, "write a record schema of Avro as JSON"),
        (avro(url="registry:8081"), "url"),
        (avro(url="https://u:p@registry"), "anyone can read a password in a URL"),
        (avro(url="http://r", authentication=LOGIN), "authentication needs an https:// address"),
    )
)
FORMATS_TAKEN: tuple[tuple[str, Any], ...] = tuple(
    ("spec.source.kafka.format", value)
    for value in (
        {"json": {"schema": "id STRING NOT NULL, amount DOUBLE"}},
        {"avro": {"schema": RECORD}},
        {"protobuf": MESSAGES},
        {"protobuf": MESSAGES | {"message": "Order", "framed": True}},
        avro(url="http://registry.kafka.svc:8081/v1"),
        avro(authentication=LOGIN, trustedCertificates=AUTHORITY),
    )
)
MANY = {"topic": "dead", "maxPerBatch": 10_001}
DECODED = {"source.kafka.format": {"json": {"schema": "id STRING"}}}

DATABASE = {key: value for key, value in JDBC.items() if key != "keys"}
ROWS = {"columns": ["code", "name"], "values": [["de", "Germany"]]}
AT = {"uri": "s3a://lake/customers"}
TABLES_REFUSED: tuple[Row, ...] = tuple(
    ("spec.transform.tables", value, words)
    for value, words in (
        ([{"name": "countries"}], "write exactly one of rows, delta, files and jdbc"),
        (
            [{"name": "tiers", "jdbc": DATABASE | {"url": "jdbc:postgresql://d/s?user=a"}}],
            "write the user into username",
        ),
        ([{"name": "countries", "rows": ROWS, "delta": AT}], "write exactly one of rows"),
        ([{"name": "source", "rows": ROWS}], "`source` is the stream itself"),
        ([{"name": "a", "rows": ROWS}, {"name": "a", "delta": AT}], "has one name twice"),
        ([{"name": "A b", "rows": ROWS}], "name"),
        ([{"name": "a", "rows": ROWS | {"values": [["de"]]}}], "each row has a value for each"),
        ([{"name": "a", "files": AT | {"format": "xml"}}], "format"),
    )
)

ALERTS = {
    "name": "alerts", "sql": "SELECT key, value FROM result WHERE amount > 1000",
    "kafka": {"bootstrapServers": "k:9092", "topic": "alerts"},
}  # fmt: skip
LAKES = {"name": "lake", "delta": LAKE}
TABLE = {"name": "totals", "jdbc": JDBC}
TWO_LAKES = "two sinks write to one table or directory"
SEVERAL_REFUSED: tuple[Row, ...] = (
    ("spec.sinks", [ALERTS], "write exactly one of sink and sinks"),
    ("spec.sink", None, "write exactly one of sink and sinks"),
    *(
        ("spec", {"sink": None, "sinks": sinks}, words)
        for sinks, words in (
            ([], "sinks"),
            ([ALERTS | {"noop": {}}], "write exactly one sink, of kafka, jdbc, delta, files"),
            ([LAKES, ALERTS | {"name": "lake"}], "has one name twice"),
            ([LAKES, ALERTS | {"name": "My alerts"}], "name"),
            ([LAKES, LAKES | {"name": "copy"}], TWO_LAKES),
            ([TABLE, TABLE | {"name": "copy"}], TWO_LAKES),
            ([LAKES, ALERTS | {"outputMode": "update"}], "so one outputMode"),
            ([LAKES, ALERTS | {"sql": ""}], "sql"),
        )
    ),
    (
        "spec",
        {"sink": None, "sinks": [LAKES, ALERTS],
         "source.kafka": {"bootstrapServers": "k:9092", "topics": ["alerts"]}},
        LOOP,
    ),
    (
        "spec",
        {"sink": None, "sinks": [LAKES, ALERTS],
         "transform.tables": [{"name": "result", "rows": ROWS}]},
        "the view `result` is what the sinks get",
    ),
)  # fmt: skip
SEVERAL_TAKEN: tuple[tuple[str, Any], ...] = tuple(
    ("spec", {"sink": None, "sinks": sinks})
    for sinks in (
        [ALERTS],
        [LAKES, ALERTS, TABLE],
        [LAKES, {"name": "files", "files": LAKE | {"format": "json"}}],
        [TABLE, {"name": "others", "jdbc": JDBC | {"table": "public.others"}}],
        [s | {"outputMode": "update"} for s in (ALERTS, TABLE)],
    )
)

RATE = {"rate": {"rowsPerSecond": 10}}
ON_RATE = {"source": RATE, "sink": {"noop": {}}}
A_LATENCY = "without source.kafka, write a goal of latency, by the clock of the producer"
RATE_REFUSED: tuple[Row, ...] = (
    ("spec.source", {}, "write exactly one source, of kafka, delta"),
    ("spec.source.rate", {"rowsPerSecond": 10}, "write exactly one source, of kafka, delta"),
    ("spec.source", {"rate": {}}, "rowsPerSecond"),
    ("spec.source", {"rate": {"rowsPerSecond": 0}}, "rowsPerSecond"),
    ("spec.source", {"rate": {"rowsPerSecond": 10**7 + 1}}, "rowsPerSecond"),
    ("spec.source", {"rate": {"rowsPerSecond": 10, "partitions": 0}}, "partitions"),
    ("spec", ON_RATE | {"deadLetters": {"topic": "dead"}}, "deadLetters go to a topic of the"),
    ("spec", ON_RATE | {"runs": {}}, "a run takes on what waits in a Kafka"),
    ("spec", ON_RATE | {"goal": {"throughput": {"max": True}}}, A_LATENCY),
    ("spec", ON_RATE | {"goal": {"latency": {"target": "9s", "clock": "broker"}}}, A_LATENCY),
)

GROWING = {"uri": "s3a://lake/orders", "timeColumn": "changed"}
DROPPED = GROWING | {"format": "json", "schema": "changed TIMESTAMP, amount DOUBLE"}
FURTHER = {"startingVersion": 7, "skipChangeCommits": True, "maxFilesPerTrigger": 9}
STORED_REFUSED: tuple[Row, ...] = (
    ("spec.source", {"delta": {"uri": "s3a://lake/orders"}}, "timeColumn"),
    ("spec.source", {"delta": GROWING | {"startingVersion": -1}}, "startingVersion"),
    ("spec.source", {"delta": GROWING | {"maxFilesPerTrigger": 0}}, "maxFilesPerTrigger"),
    ("spec.source", {"delta": GROWING, "rate": {"rowsPerSecond": 1}}, "write exactly one source"),
    ("spec.source", {"files": GROWING | {"format": "json"}}, "schema"),
    ("spec.source", {"files": DROPPED | {"format": "xml"}}, "format"),
    ("spec", {"source": {"delta": GROWING}, "goal": {"throughput": {"max": True}}}, A_LATENCY),
    ("spec", {"source": {"files": DROPPED}, "runs": {}}, "a run takes on what waits in a Kafka"),
    ("spec", {"source": {"delta": GROWING}, "deadLetters": {"topic": "d"}}, "deadLetters go to a"),
)
A_KAFKA = {"bootstrapServers": "a:9092", "topics": ["orders"]}
TWO = [
    {"name": "orders", "kafka": A_KAFKA},
    {"name": "payments", "kafka": {"cluster": "events", "topics": ["payments"]}},
]
SEVERAL = {"source": None, "sources": TWO, "transform": {"sql": "SELECT * FROM orders"}}
PAYS = {"kafka": {"cluster": "events", "topic": "payments"}}
SEVERAL_REFUSED: tuple[Row, ...] = (
    ("spec", {"sources": TWO}, "write exactly one of source and sources"),
    ("spec", {"source": None}, "write exactly one of source and sources"),
    *(
        ("spec", SEVERAL | wrong, words)
        for wrong, words in (
            ({"sources": TWO[:1]}, "sources"),
            ({"sources": [TWO[0], TWO[0]]}, "sources has one name twice"),
            ({"sources": [TWO[0], TWO[1] | {"name": "result"}]}, "are views of trimtab"),
            ({"sources": [TWO[0], TWO[1] | {"name": "Pay-1"}]}, "name"),
            ({"sources": [TWO[0], {"name": "b", "kafka": {"cluster": "c"}}]}, "write topics"),
            ({"sources": [TWO[0], {"name": "b", "rate": {}}]}, "rate"),
            ({"sink": PAYS}, LOOP),
            ({"sink": None, "sinks": [PAYS | {"name": "again"}]}, LOOP),
            ({"deadLetters": {"topic": "dead"}}, "deadLetters go to a topic"),
            ({"execution": "realTime"}, "real-time mode needs source.kafka"),
            ({"transform": {"jvm": {"class": "a.B"}}}, "several sources take a transform in sql"),
            ({"transform": {"python": {"script": "a.py"}}}, "several sources take"),
            (
                {"transform": {"sql": "SELECT 1", "tables": [{"name": "orders", "rows": ROWS}]}},
                "a source has the name of a table",
            ),
        )
    ),
)
SEVERAL_TAKEN: tuple[tuple[str, Any], ...] = (
    ("spec", SEVERAL),
    ("spec", SEVERAL | {"runs": {}, "goal": {"throughput": {"max": True}}}),
    ("spec", SEVERAL | {"transform": {"python": {"module": "a:b"}}}),
)


STORED_TAKEN: tuple[tuple[str, Any], ...] = (
    ("spec.source", {"delta": GROWING}),
    ("spec.source", {"delta": GROWING | FURTHER}),
    ("spec.source", {"files": DROPPED}),
)

AT_ONCE = {
    "execution": "realTime", "transform": {"sql": "SELECT key, value FROM source"},
}  # fmt: skip
NEEDS = "real-time mode needs source.kafka, one sink.kafka, a transform in sql or jvm"
REAL_TIME_REFUSED: tuple[Row, ...] = (
    ("spec.execution", "fast", "execution"),
    *(
        ("spec", AT_ONCE | more, NEEDS)
        for more in (
            ON_RATE,
            {"sink": {"noop": {}}},
            {"sink": None, "sinks": [ALERTS]},
            {"transform": {"python": {"module": "a:b"}}},
            {"goal": {"throughput": {"max": True}}},
            {"goal": {"latency": {"target": "1s", "clock": "broker"}}},
            {"limits.executors.min": 0},
            {"deadLetters": {"topic": "dead"}},
            {"runs": {}},
        )
    ),
)
REAL_TIME_TAKEN: tuple[tuple[str, Any], ...] = (
    ("spec.execution", "microBatch"),
    ("spec", AT_ONCE | {"goal": {"latency": {"target": "200ms"}}}),
    ("spec", {"execution": "auto", "runs": {}}),
)

JOBS = {"image": f"registry.example/jobs@sha256:{'0' * 64}"}
WHEEL = {"uri": "s3a://lake/jobs/orders-1.2-py3-none-any.whl", "sha256": "ab" * 32}
PACKAGES = {"module": "a:b", "requirements": {"configMap": {"name": "clicks-packages"}}}
"""A transform with packages of its own."""

JVM = {"class": "com.example.Clicks", "jar": "/opt/app/clicks.jar", "params": {"region": "eu"}}

PIPELINES_REFUSED: tuple[Row, ...] = (
    *RATE_REFUSED,
    *SEVERAL_REFUSED,
    *STORED_REFUSED,
    *REAL_TIME_REFUSED,
    *SEVERAL_REFUSED,
    *SECURED_REFUSED,
    *STRIMZI_REFUSED,
    *TOPICS_REFUSED,
    ("spec.transform.python", {"params": {"a": "b"}}, "write either module: clicks:transform"),
    (
        "spec.transform.python",
        {"module": "clicks:transform", "script": "clicks.py"},
        "write either module: clicks:transform",
    ),
    (
        "spec.transform.python",
        {"module": "clicks:transform", "args": ["--region", "eu"]},
        "args are those of a script",
    ),
    ("spec.transform.python", {"script": "clicks"}, "script"),
    ("spec.transform.python", {"module": "a:b", "requirements": {}}, "configMap"),
    ("spec.transform.python", PACKAGES | {"requirements": {"text": "geo"}}, "text"),
    (
        "spec.transform.python",
        {"module": "a:b", "modulesFrom": {"image": "registry.example/jobs:1.2"}},
        "modulesFrom.image",
    ),
    (
        "spec.transform.python",
        {"module": "a:b", "modulesFrom": JOBS | {"path": "modules"}},
        "modulesFrom.path",
    ),
    *(
        ("spec.transform.python", {"module": "a:b", "archives": [WHEEL | wrong]}, words)
        for wrong, words in (
            ({"uri": "file:///opt/a.whl"}, "a pod has no such file"),
            ({"uri": "s3a://lake/a.py"}, "uri"),
            ({"uri": "s3a://lake/a.whl?v=1"}, "uri"),
            ({"sha256": "AB" * 32}, "sha256"),
            ({"sha256": "ab"}, "sha256"),
        )
    ),
    *(
        ("spec.transform.python.requirements.configMap", wrong, words)
        for wrong, words in (
            ({"key": "requirements.txt"}, "name"),
            ({"name": "Clicks_packages"}, "name"),
            ({"name": "clicks", "key": "../token"}, "key"),
        )
    ),
    ("spec.transform", {"sql": "SELECT 1", "jvm": JVM}, "write exactly one transform"),
    ("spec.transform", {"jvm": JVM | {"class": "com.example.Clicks()"}}, "class"),
    ("spec.transform", {"jvm": JVM | {"jar": "s3a://lake/clicks.jar"}}, "jar"),
    ("spec.transform", {"jvm": JVM | {"jar": "/opt/a.jar,/opt/b.jar"}}, "jar"),
    *TABLES_REFUSED,
    *VOLUMES_REFUSED,
    *ACCOUNT_REFUSED,
    *ROLES_REFUSED,
    *EVENT_LOG_REFUSED,
    ("spec", {**DECODED, "deadLetters": MANY}, "deadLetters.maxPerBatch is at most 10000"),
    *FORMATS_REFUSED,
    ("spec.goal.latency.target", "99ms", "write a duration from 100ms to 24h"),
    ("spec.goal.latency.target", "25h", "write a duration from 100ms to 24h"),
    ("spec.goal.latency.catchUp", "999ms", "write a duration from 1s to 168h"),
    ("spec.goal.latency.catchUp", "169h", "write a duration from 1s to 168h"),
    ("spec.goal", {"throughput": {"max": True, "catchUp": "169h"}}, "from 1s to 168h"),
    ("spec.drainTimeout", "999ms", "write a duration from 1s to 6h"),
    ("spec.drainTimeout", "2000000h", "write a duration from 1s to 6h"),
    ("spec.drainTimeout", "999999999h", "drainTimeout"),
    ("spec.runs", {"deadline": "59s"}, "write a duration from 60s to 720h"),
    ("spec.runs", {"schedule": "hourly"}, "runs.schedule"),
    ("spec.hangTimeout", "59s", "write a duration from 60s to 24h"),
    ("spec.hangTimeout", "9000h", "write a duration from 60s to 24h"),
    ("spec.limits.executors", {"min": 0, "idleAfter": "9s"}, "write a duration from 10s to 168h"),
    ("spec.limits.executors", {"min": 0, "idleAfter": "169h"}, "write a duration from 10s to 168h"),
    ("spec.tuning.initial", {"trigger": "61m"}, "write a duration from 0s to 60m"),
    ("spec.tuning.pinned", {"trigger": "0s"}, "write a duration above zero"),
    ("spec.tuning.initial", {"trigger": "0s"}, "write a duration above zero"),
    ("spec.resources.executor.memory", "833Mi", "write at least 834Mi: Spark needs a heap of"),
    ("spec.resources.driver.memory", "874512383", "write at least 834Mi: Spark needs a heap of"),
    ("spec", {"limits.memory": "899Mi", "limits.executors.min": 0}, TOO_LITTLE_MEMORY),
    ("spec", {"limits.memory": "2699Mi", "limits.executors.min": 3}, TOO_LITTLE_MEMORY),
    (
        "spec",
        {"limits.cores": 1, "limits.executors.min": 0, "resources.executor.cores": 2},
        TOO_FEW_CORES,
    ),
    (
        "spec",
        {"limits.cores": 5, "limits.executors.min": 3, "resources.executor.cores": 2},
        TOO_FEW_CORES,
    ),
    ("spec.source.kafka.topics", ["views", "views"], "names a topic twice"),
    ("spec.sink.kafka.topic", "clicks", LOOP),
    ("spec.env", [{"name": "A"}], "write either value: text, or valueFrom"),
    ("spec.env", [{"name": "A", "value": "x", "valueFrom": FROM_SECRET}], "write either value"),
    ("spec.env", [{"name": "A", "valueFrom": {}}], "write either secretKeyRef or configMapKeyRef"),
    (
        "spec.env",
        [{"name": "A", "valueFrom": FROM_SECRET | {"configMapKeyRef": {"name": "c", "key": "k"}}}],
        "write either secretKeyRef or configMapKeyRef",
    ),
    ("spec.deadLetters", {"topic": "clicks"}, "would read what it could not read"),
    ("spec.sink.noop", {}, "write exactly one sink, of kafka, jdbc, delta, files"),
    ("spec.sink.kafka", None, "write exactly one sink, of kafka, jdbc, delta, files"),
    (
        "spec.sink",
        {"jdbc": JDBC | {"url": "jdbc:postgresql://w/shop?password=x"}},
        "its password into a Secret that passwordSecret names",
    ),
    (
        "spec",
        {
            "source.kafka": {"bootstrapServers": "k:9092", "topics": ["views", "clicks"]},
            "sink.kafka": {"bootstrapServers": "k:9092", "topic": "clicks"},
        },
        LOOP,
    ),
)

SINKS_TAKEN: tuple[tuple[str, Any], ...] = (
    ("spec.sink", {"jdbc": JDBC}),
    ("spec.sink", {"delta": LAKE}),
    ("spec.sink", {"files": LAKE | {"format": "parquet"}}),
    ("spec.sink", {"foreachBatch": {"module": "orders:write", "params": {"table": "orders"}}}),
    ("spec.sink", {"noop": {}}),
)

PIPELINES_TAKEN: tuple[tuple[str, Any], ...] = (
    ("spec", ON_RATE),
    ("spec.source", RATE),
    ("spec.source", {"rate": {"rowsPerSecond": 10**7, "partitions": 1000}}),
    *SINKS_TAKEN,
    *SEVERAL_TAKEN,
    *STORED_TAKEN,
    *SEVERAL_TAKEN,
    *REAL_TIME_TAKEN,
    (
        "spec.transform.tables",
        [
            {"name": "countries", "rows": ROWS},
            {"name": "customers", "delta": AT},
            {
                "name": "rates",
                "files": AT | {"format": "csv", "schema": "code STRING, rate DOUBLE"},
            },
            {"name": "tiers", "jdbc": DATABASE},
        ],
    ),
    ("spec.source.kafka", BY_PATTERN),
    ("spec", {"source.kafka": BY_PATTERN, "sink.kafka": ONE_KAFKA | {"topic": "clicks_a"}}),
    ("spec.source.kafka.options", {"receive.buffer.bytes": "1000000"}),
    ("spec.source.kafka.groupIdPrefix", "shop-clicks"),
    ("spec.sink.kafka.options", {"max.request.size": "5242880", "buffer.memory": "67108864"}),
    ("spec.transform.python", {"script": "/opt/app/clicks.py", "args": ["--region", "eu"]}),
    ("spec.transform.python", PACKAGES),
    ("spec.transform.python.requirements", {"configMap": {"name": "p", "key": "prod.txt"}}),
    (
        "spec.transform.python",
        {"module": "a:b", "archives": [WHEEL, WHEEL | {"uri": "gs://b/c.zip"}]},
    ),
    ("spec.transform.python", {"module": "a:b", "modulesFrom": JOBS | {"path": "/opt/jobs"}}),
    *FORMATS_TAKEN,
    ("spec.deadLetters", MANY),
    ("spec", {**DECODED, "deadLetters": MANY | {"maxPerBatch": 10_000}}),
    ("spec.deadLetters", {"topic": "clicks-dead", "maxPerBatch": 0}),
    ("spec.env", [{"name": "A", "valueFrom": FROM_SECRET}]),
    ("spec.env", [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}]),
    *SECURED_TAKEN,
    *VOLUMES_TAKEN,
    ("spec.serviceAccount", IDENTITY),
    *ROLES_TAKEN,
    *EVENT_LOG_TAKEN,
    ("spec.goal.latency", {"target": "100ms", "catchUp": "168h"}),
    ("spec.goal.latency", {"target": "0.1s", "catchUp": "1s"}),
    ("spec.goal.latency", {"target": "24h"}),
    ("spec.drainTimeout", "1s"),
    ("spec.hangTimeout", "1m"),
    ("spec.transform", {"jvm": JVM}),
    ("spec.transform", {"jvm": {"class": "Clicks$Inner"}}),
    ("spec.runs", {}),
    (
        "spec.runs",
        {"schedule": "*/15 8-18 * * MON-FRI", "timeZone": "Asia/Tokyo", "deadline": "1m"},
    ),
    ("spec.hangTimeout", "24h"),
    ("spec.limits.executors", {"min": 0, "idleAfter": "10s"}),
    ("spec", {"limits.memory": "900Mi", "limits.executors.min": 0}),
    ("spec", {"limits.memory": "2700Mi", "limits.executors.min": 3}),
    ("spec", {"limits.cores": 6, "limits.executors.min": 3, "resources.executor.cores": 2}),
    ("spec", {"limits.memory": "999999999999Ti", "resources.executor.memory": "999999999999Ti"}),
    ("spec.source.kafka.topics", ["views", "views.a"]),
    ("spec.drainTimeout", "6h"),
    ("spec.tuning.initial", {"trigger": "1ms"}),
    ("spec.tuning.pinned", {"trigger": "1h"}),
    ("spec.resources.executor.memory", "834Mi"),
    ("spec.resources.driver.memory", "874512384"),
    ("spec.resources.driver.memory", "1T"),
    ("spec.sink.kafka", {"bootstrapServers": "other:9092", "topic": "clicks"}),
    ("spec.sink.kafka", STRIMZI | {"topic": "clicks"}),
    ("spec", {"source.kafka": STRIMZI | {"topics": ["clicks"]}, "limits.topicPartitions": 64}),
)

KAFKA_REFUSED: tuple[Row, ...] = (
    ("spec.resources.memory", "100Mi", "write at least 512Mi: half of it is the heap"),
    ("spec.resources.memory", "511Mi", "write at least 512Mi: half of it is the heap"),
    ("spec.topics.0.retentionMs", 1e30, "retentionMs"),
    ("spec.topics.0.retentionMs", 10**12 + 1, "should be less than or equal to 1000000000000"),
    ("spec.topics.0.retentionMs", -2, "should be greater than or equal to -1"),
    ("spec.topics.0.retentionMs", 0, "write -1 to keep records forever"),
    ("spec.topics.0.retentionMs", 999, "write -1 to keep records forever"),
    ("spec.topics.0.retentionBytes", -2, "should be greater than or equal to -1"),
    ("spec.topics.0.retentionBytes", (1 << 20) - 1, "write -1 for no limit"),
    ("spec.topics.0.retentionBytes", 10**15 + 1, "should be less than or equal to"),
    ("spec.security", {"tls": False}, "write tls: true, or leave security out"),
    ("spec.security", {"scram": False, "users": ["a"]}, "users log in by SCRAM"),
    ("spec.security", {"users": ["pipelines"]}, "the user pipelines is there already"),
    ("spec.security", {"users": ["A b"]}, "users"),
    ("spec.security", {"acls": True}, "acls"),
)

KAFKA_TAKEN: tuple[tuple[str, Any], ...] = (
    ("spec.resources.memory", "512Mi"),
    ("spec.topics", [{"name": f"t{ms}", "retentionMs": ms} for ms in (-1, 1000, 10**12)]),
    ("spec.topics", [{"name": f"t{n}", "retentionBytes": n} for n in (-1, 1 << 20, 10**15)]),
    ("spec.spread", "Preferred"),
    ("spec.security", {}),
    ("spec.security", {"scram": False}),
    ("spec.security", {"tls": True, "scram": True, "users": ["reports", "audit"]}),
)
