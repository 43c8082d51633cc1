"""etcd, kube-apiserver, kube-controller-manager and kube-scheduler; also the first two alone."""

from __future__ import annotations

import json
import shutil
import socket
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dev.localcluster import daemons
from dev.localcluster.apiclient import KubeApi
from dev.localcluster.binaries import binary
from dev.localcluster.network import (
    CLUSTER_DOMAIN,
    POD_RANGE,
    SERVICE_RANGE,
    first_service_address,
)
from dev.localcluster.paths import Paths, from_environment
from dev.localcluster.pki import (
    Authority,
    Identity,
    make_authority,
    make_signing_key,
    write_kubeconfig,
)
from dev.localcluster.run import wait_until

# Unusual on purpose: the machine's own etcd may use the default ones.
ETCD_PORT = 23790
ETCD_PEER_PORT = 23800
API_PORT = 6443
AUDIT_LOG = "audit.jsonl"
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"]},
        {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
        {"level": "None"},
    ],
}
ISSUER = f"https://kubernetes.default.svc.{CLUSTER_DOMAIN}"


@dataclass(frozen=True)
class ApiServer:
    """Where one API server listens, and the files it uses."""

    directory: Path
    address: str
    port: int
    etcd_port: int
    etcd_peer_port: int
    authority: Authority
    logs: Path
    pids: Path | None = None

    @property
    def url(self) -> str:
        """The address that clients on this machine use."""
        return f"https://{self.address}:{self.port}"


def etcd_argv(program: Path, server: ApiServer) -> list[str | Path]:
    """Return etcd's command line: loopback only, no fsync, because its state is disposable."""
    client = f"http://127.0.0.1:{server.etcd_port}"
    peer = f"http://127.0.0.1:{server.etcd_peer_port}"
    return [
        program, "--name=local", f"--data-dir={server.directory / 'etcd'}", "--unsafe-no-fsync",
        f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=local={peer}", "--log-level=warn",
    ]  # fmt: skip


def apiserver_argv(
    program: Path, server: ApiServer, serving: Identity, tokens: Identity
) -> list[str | Path]:
    """Return the API server's command line, without what only a full cluster needs."""
    authority = server.authority.certificate
    return [
        program,
        f"--bind-address={server.address}", f"--advertise-address={server.address}",
        f"--secure-port={server.port}", f"--etcd-servers=http://127.0.0.1:{server.etcd_port}",
        f"--cert-dir={server.directory}", f"--client-ca-file={authority}",
        f"--tls-cert-file={serving.certificate}", f"--tls-private-key-file={serving.key}",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={tokens.certificate}",
        f"--service-account-signing-key-file={tokens.key}",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        # as on the clusters of others: refusing what is privileged is up to admission
        "--authorization-mode=Node,RBAC", "--profiling=false", "--allow-privileged=true",
    ]  # fmt: skip


def audit_argv(server: ApiServer) -> list[str | Path]:
    """Return the options that log which calls service accounts make; tests compare their rights."""
    policy = server.directory / "audit-policy.json"
    policy.write_text(json.dumps(AUDIT_POLICY))
    return [
        f"--audit-policy-file={policy}", f"--audit-log-path={server.logs / AUDIT_LOG}",
        "--audit-log-maxsize=100", "--audit-log-maxbackup=2",
    ]  # fmt: skip


def serving_names(address: str) -> list[str]:
    """Return the names under which clients on the host and in pods reach the API server."""
    inside = ("kubernetes", "kubernetes.default", "kubernetes.default.svc")
    names = [f"DNS:{name}" for name in (*inside, f"kubernetes.default.svc.{CLUSTER_DOMAIN}")]
    return [*names, "DNS:localhost", f"IP:{address}", f"IP:{first_service_address()}"]


def boot_api(
    paths: Paths, server: ApiServer, extra: Sequence[str | Path] = ()
) -> tuple[list[daemons.Daemon], KubeApi]:
    """Start etcd and the API server and wait until it is ready.

    Raises:
        DaemonError: one of them exited; the message has the end of its log.
        TimeoutWaitingError: they were not ready in time.
    """
    pki = server.authority.directory
    serving = server.authority.issue(
        "apiserver", "/CN=kube-apiserver", alternative_names=serving_names(server.address)
    )
    tokens = make_signing_key(pki)
    admin = server.authority.issue("admin", "/O=system:masters/CN=admin")
    started = [_start(server, "etcd", etcd_argv(binary(paths, "etcd"), server))]
    try:
        argv = apiserver_argv(binary(paths, "kube-apiserver"), server, serving, tokens)
        health = f"http://127.0.0.1:{server.etcd_port}/readyz"
        wait_until("etcd", lambda: _answers(health), limit_s=30, alive=started[0].check)
        server.logs.mkdir(parents=True, exist_ok=True)
        argv += audit_argv(server)
        started.append(_start(server, "kube-apiserver", [*argv, *extra]))

        def check() -> None:
            for daemon in started:
                daemon.check()

        api = KubeApi(server.url, server.authority, admin)
        wait_until("the API server", api.ready, limit_s=90, alive=check)
    except BaseException:
        daemons.end(d.pid for d in reversed(started))
        raise
    return started, api


def _start(server: ApiServer, name: str, argv: Sequence[str | Path]) -> daemons.Daemon:
    return daemons.start(name, argv, logs=server.logs, pids=server.pids)


def _answers(url: str) -> bool:
    """Return whether an HTTP address answers with 2xx."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=2):
            return True
    except OSError:
        return False


def start_controllers(paths: Paths, server: ApiServer) -> list[daemons.Daemon]:
    """Start the controller manager and the scheduler of a full cluster."""
    pki = server.authority.directory
    started = []
    arguments: dict[str, list[str | Path]] = {
        "kube-controller-manager": [
            f"--cluster-cidr={POD_RANGE}", f"--service-cluster-ip-range={SERVICE_RANGE}",
            "--allocate-node-cidrs=false", "--use-service-account-credentials=true",
            f"--root-ca-file={server.authority.certificate}",
            f"--service-account-private-key-file={pki / 'sa.key'}",
            f"--cluster-signing-cert-file={server.authority.certificate}",
            f"--cluster-signing-key-file={server.authority.key}",
            "--controllers=*,-cloud-node-lifecycle-controller,-nodeipam",
            # it creates this directory, by default below /usr
            f"--flex-volume-plugin-dir={paths.state / 'volume-plugins'}",
        ],
        "kube-scheduler": [],
    }  # fmt: skip
    for name, extra in arguments.items():
        identity = server.authority.issue(name, f"/CN=system:{name}")
        config = write_kubeconfig(
            pki / f"{name}.kubeconfig", server.url, server.authority, identity, name
        )
        argv: list[str | Path] = [
            binary(paths, name), f"--kubeconfig={config}", "--leader-elect=false",
            f"--authentication-kubeconfig={config}", f"--authorization-kubeconfig={config}",
            "--bind-address=127.0.0.1", f"--cert-dir={pki}", "--profiling=false", *extra,
        ]  # fmt: skip
        started.append(_start(server, name, argv))
    return started


def free_ports(count: int) -> list[int]:
    """Return different TCP ports that are free on the loopback address."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def kubectl_path() -> Path:
    """Return the built kubectl, for tests that use the command itself.

    Raises:
        MissingToolError: it is not built.
    """
    return binary(from_environment(), "kubectl")


@contextmanager
def api_server(workdir: Path) -> Iterator[Path]:
    """Run etcd and kube-apiserver alone, for tests; yields an administrator's kubeconfig.

    They listen on free loopback ports, keep everything under `workdir` (removed at the end, except
    ``logs/``), and need neither root nor a network. RBAC and the Node authorizer are on; signed
    service account tokens work (``kubectl create token``). There are no controllers: nothing is
    garbage-collected, no Deployment creates pods, namespaces get no ``default`` service account,
    and a deleted namespace stays Terminating. The admission plugin ``ServiceAccount`` is off, so
    that pods can be created anyway.

    Takes 3-5 s. Raises MissingToolError if the binaries are not built, DaemonError or
    TimeoutWaitingError if a process does not start.
    """
    paths = from_environment()
    workdir.mkdir(parents=True, exist_ok=True)
    port, etcd_port, peer_port = free_ports(3)
    server = ApiServer(
        directory=workdir.resolve(),
        address="127.0.0.1",
        port=port,
        etcd_port=etcd_port,
        etcd_peer_port=peer_port,
        authority=make_authority(workdir.resolve() / "pki"),
        logs=workdir.resolve() / "logs",
    )
    # The reconciler would complain that a loopback address is not a valid endpoint.
    alone = ["--endpoint-reconciler-type=none", "--disable-admission-plugins=ServiceAccount"]
    started, api = boot_api(paths, server, alone)
    try:
        # A fresh server answers before it has created its own namespaces and roles.
        wait_until(
            "the default namespace",
            lambda: api.exists("/api/v1/namespaces/default"),
            limit_s=30,
            alive=started[1].check,
        )
        admin = Identity(server.authority.directory / "admin.crt",
                         server.authority.directory / "admin.key")  # fmt: skip
        target = server.directory / "kubeconfig"
        yield write_kubeconfig(target, server.url, server.authority, admin, "admin")
    finally:
        daemons.end((d.pid for d in reversed(started)), grace_s=0.1)  # there is nothing to save
        for daemon in started:
            daemon.process.wait()  # tells Popen what `end` already reaped
        shutil.rmtree(server.directory / "etcd", ignore_errors=True)
        shutil.rmtree(server.authority.directory, ignore_errors=True)
