"""The pure parts of the local cluster."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path

import pytest
import yaml
from dev.localcluster import (
    addons,
    daemons,
    doctor,
    images,
    layout,
    network,
    node,
    registry,
    sweep,
    versions,
)  # fmt: skip
from dev.localcluster.failures import CommandError, DaemonError
from dev.localcluster.jars import cached, made_once
from dev.localcluster.paths import REPO, Paths, from_environment
from dev.localcluster.pki import Authority, Identity
from dev.localcluster.recipes import RECIPES, Recipe, input_files, needed_for, tag
from dev.localcluster.toolchain import Package, go_version

STATE = Path("/var/lib/trimtab-dev")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    directory = tmp_path / "images" / "pause"
    directory.mkdir(parents=True)
    (directory / "Dockerfile").write_text("FROM scratch\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.py").write_text("a = 1\n")
    return tmp_path


RECIPE = Recipe("pause", inputs=("more",))


def test_volumes_of_the_shared_class_are_of_no_node() -> None:
    classes = addons.storage_config(STATE / "volumes")["storageClassConfigs"]
    assert classes["shared"] == {"sharedFileSystemPath": f"{STATE}/volumes"}
    (everywhere,) = classes["local"]["nodePathMap"]
    assert everywhere["paths"] == [f"{STATE}/volumes"]
    made = yaml.safe_load_all(addons.MANIFESTS.read_text())
    assert {m["metadata"]["name"] for m in made if m["kind"] == "StorageClass"} == set(classes)


def test_a_tag_follows_the_content_of_its_inputs(source: Path) -> None:
    first = tag(source, RECIPE)
    assert first.startswith("localhost/trimtab/pause:")
    (source / "unrelated").write_text("x")
    (source / "more" / "__pycache__").mkdir()
    (source / "more" / "__pycache__" / "a.pyc").write_bytes(b"x")
    assert tag(source, RECIPE) == first
    (source / "more" / "a.py").write_text("a = 2\n")
    assert tag(source, RECIPE) != first


def test_a_tag_follows_names_modes_and_salt(source: Path) -> None:
    first = tag(source, RECIPE)
    (source / "more" / "a.py").chmod(0o755)
    executable = tag(source, RECIPE)
    (source / "more" / "a.py").rename(source / "more" / "b.py")
    renamed = tag(source, RECIPE)
    salted = tag(source, Recipe("pause", inputs=("more",), salt="x"))
    assert len({first, executable, renamed, salted}) == 4


def test_a_tag_follows_the_images_below(source: Path) -> None:
    (source / "images" / "top").mkdir()
    (source / "images" / "top" / "Dockerfile").write_text("FROM pause\n")
    top = Recipe("top", images={"BASE": "pause"})
    first = tag(source, top)
    (source / "images" / "pause" / "Dockerfile").write_text("FROM scratch\nUSER 1\n")
    assert tag(source, top) != first


def test_a_missing_input_is_an_error_not_another_tag(source: Path) -> None:
    with pytest.raises(FileNotFoundError, match="gone"):
        input_files(source, ("gone",))


def test_images_come_after_those_below_them() -> None:
    names = [each.name for each in RECIPES]
    for each in RECIPES:
        for below in each.images.values():
            assert names.index(below) < names.index(each.name)
    assert [r.name for r in needed_for(["kafka"])] == ["pause", "base", "jars", "kafka"]


def test_content_hash_counts_the_borders() -> None:
    assert versions.content_hash([b"ab", b"c"]) != versions.content_hash([b"a", b"bc"])
    assert len(versions.content_hash([])) == 12


def test_every_tool_is_pinned_by_its_module() -> None:
    found = {tool.name: tool.version() for tool in versions.GO_TOOLS}
    assert found["kubelet"] == found["kube-apiserver"] == "v1.35.4"
    assert found["etcd"] == "v3.6.6"
    with pytest.raises(ValueError, match="not required"):
        versions.module_version("module x\n", "k8s.io/kubernetes")


def test_a_tool_key_follows_its_flags() -> None:
    one = versions.go_tool("prometheus")
    other = versions.GoTool(one.name, one.directory, one.package, one.module, tags="others")
    assert one.key() != other.key()


@pytest.mark.parametrize(
    ("argv", "ours"),
    [
        (["/cache/etcd", "--data-dir=/var/lib/trimtab-dev/etcd"], True),
        (["containerd", "--config", "/var/lib/trimtab-dev/n0/containerd.toml"], True),
        (["kubelet", "--root-dir=/var/lib/trimtab-dev"], True),
        (["registry", "serve", "/var/lib/trimtab-dev/registry.json"], True),
        (["kubelet", "--config=/var/lib/kubelet/config.yaml"], False),
        (["kubelet", "--config=/var/lib/trimtab-dev-2/kubelet.json"], False),
        (["kubelet", "--config=/mnt/var/lib/trimtab-dev/kubelet.json"], False),
        (["tail", "-f", "/var/lib/trimtab-dev/logs/etcd.log"], False),
        (["bash", "-c", "etcd --data-dir=/var/lib/trimtab-dev/etcd"], False),
        ([], False),
    ],
)
def test_only_our_own_processes_are_ours(argv: list[str], ours: bool) -> None:
    assert daemons.is_ours(argv, STATE, sweep.MANAGERS) is ours


def test_a_daemon_is_started_again_as_often_as_it_may(tmp_path: Path) -> None:
    daemon = daemons.start(
        "sh", ["sh", "-c", "echo gone"], logs=tmp_path, pids=tmp_path, restarts=1
    )
    first = daemon.pid
    daemon.process.wait(10)
    daemon.check()
    assert first != daemon.pid == int((tmp_path / "sh").read_text())
    daemon.process.wait(10)
    with pytest.raises(DaemonError, match=r"sh has exited; .*\n.*gone\n.*gone"):
        daemon.check()


def test_mounts_under_are_deepest_first_and_exact() -> None:
    lines = [
        "1 0 8:1 / / rw - ext4 x rw",
        "2 1 0:1 / /var/lib/trimtab-dev/a rw - tmpfs t rw",
        r"3 2 0:2 / /var/lib/trimtab-dev/a/b\040c rw - tmpfs t rw",
        "4 1 0:3 / /var/lib/trimtab-dev-2 rw - tmpfs t rw",
    ]
    found = sweep.mounts_under(STATE, "\n".join(lines))
    assert found == [STATE / "a" / "b c", STATE / "a"]


def test_nodes_have_disjoint_addresses() -> None:
    assert network.node_address(0) == "10.200.0.1"
    assert network.pod_addresses(0) == ("10.200.0.10", "10.200.15.250")
    assert network.node_address(1) == "10.200.16.1"
    with pytest.raises(ValueError, match="node 15"):
        network.node_address(network.MAX_NODES)


def test_node_configuration_stays_inside_the_state() -> None:
    paths = Paths(cache=Path("/c/c"), state=STATE)
    one = node.Node(paths, 1, 3)
    text = node.containerd_config(one, "pause:1", restrict_oom=True)
    assert 'sandbox_image = "pause:1"' in text
    assert "restrict_oom_score_adj = true" in text
    for line in text.splitlines():
        if line.strip().startswith(("root", "state", "address", "conf_dir", "Root")):
            assert f'"{STATE}/n1/' in line
    assert one.zone == "b"
    assert node.memory_share_bytes(900, 3) == 600
    assert node.memory_share_bytes(900, 1) == 0


def test_a_node_trusts_the_registry_of_the_cluster_alone(tmp_path: Path) -> None:
    paths, authority = Paths(cache=Path("/c/c"), state=STATE), Authority(tmp_path)
    text = node.containerd_config(node.Node(paths, 0, 1), "pause:1", restrict_oom=False)
    assert f'config_path = "{STATE}/registries"' in text
    hosts = tomllib.loads(registry.hosts_file(authority))
    assert hosts["server"] == "https://10.200.0.1:25000"
    assert hosts["host"][hosts["server"]]["ca"] == str(tmp_path / "ca.crt")
    made = registry.configuration(STATE / "registry", Identity(Path("/c.crt"), Path("/c.key")))
    assert made["http"]["addr"] == "10.200.0.1:25000"
    assert made["storage"]["filesystem"]["rootdirectory"].startswith(str(STATE))


def test_dns_query_is_a_question_for_one_name() -> None:
    assert addons.dns_query("a.bc") == (b"\0\1\1\0\0\1\0\0\0\0\0\0\1a\2bc\0\0\1\0\1")


def test_doctor_says_what_to_do() -> None:
    assert doctor.check_root(0).line == "ok      root"
    assert "sudo" in doctor.check_root(1000).line
    assert "CLUSTER=current" in doctor.check_platform("darwin", "arm64", (3, 12)).line
    assert "3.10" in doctor.check_platform("linux", "x86_64", (3, 10)).problem
    missing = doctor.check_package(Package("ghost", "/no/such/file", "tests"))
    assert missing.line == "MISSING ghost: apt-get install ghost (tests)"
    assert doctor.check_package(Package("here", str(REPO), "tests")).problem == ""
    untried = doctor.KernelProbe("links", lambda: False, "no-such-command")
    assert "cannot be checked without" in doctor.check_kernel(untried).problem
    refused = doctor.KernelProbe("links", lambda: False)
    assert "kernel refuses" in doctor.check_kernel(refused).problem
    assert doctor.check_space("disk", 3.2, 15).line == "MISSING disk: 3.2 GB, 15 GB are needed"


@pytest.mark.parametrize(
    ("words", "major"),
    [('openjdk version "17.0.15" 2025', 17), ('java version "1.8.0_4"', 8), ("nothing", 0)],
)
def test_java_versions(words: str, major: int) -> None:
    assert doctor.java_major(words) == major


def test_go_versions() -> None:
    assert go_version("go version go1.26.8 linux/amd64") == (1, 26)
    assert go_version("no go") is None


def test_paths_refuse_roots_that_could_destroy_something() -> None:
    for bad in ("relative", "/", "/var"):
        with pytest.raises(ValueError, match="TRIMTAB_STATE"):
            from_environment({"TRIMTAB_STATE": bad})
    with pytest.raises(ValueError, match="too long"):
        from_environment({"TRIMTAB_STATE": "/var/" + "x" * 90})


def blob(directory: Path, content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    (directory / digest).write_bytes(content)
    return f"sha256:{digest}"


def test_the_layout_keeps_each_blob_once_and_drops_old_images(tmp_path: Path) -> None:
    target = tmp_path / "oci"
    for number in range(layout.KEEP + 1):
        plain = tmp_path / f"image{number}"
        plain.mkdir()
        shared, own = blob(plain, b"base"), blob(plain, f"layer {number}".encode())
        config = blob(plain, f"config {number}".encode())
        manifest = {"config": {"digest": config}, "layers": [{"digest": shared}, {"digest": own}]}
        (plain / "manifest.json").write_text(json.dumps(manifest))
        (plain / "version").write_text("Directory Transport Version: 1.1\n")
        layout.add(target, f"localhost/trimtab/x:{number}", plain)
    assert list(layout.manifests(target)) == [f"localhost/trimtab/x:{n}" for n in (1, 2, 3)]
    # the shared layer, and for each image its own layer, its configuration and its manifest
    assert len(list((target / "blobs" / "sha256").iterdir())) == 1 + 3 * layout.KEEP
    for descriptor in layout.manifests(target).values():
        small, layers = layout.blobs_of(target, descriptor)
        assert all(layout.blob_path(target, digest).exists() for digest in [*small, *layers])


def test_a_pushed_image_keeps_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    pushed: list[str] = []
    index = {"operator": "localhost/trimtab/operator:1", "pipeline": "localhost/trimtab/pipeline:2",
             "kafka": "localhost/trimtab/kafka:3", "jars": "localhost/trimtab/jars:4"}  # fmt: skip
    monkeypatch.setattr(images, "read_index", lambda _: index)
    monkeypatch.setattr(images, "buildah", lambda _, *argv, **__: pushed.append(argv[-1]))
    told = images.push_images(from_environment(), "example.com/x/", ["pipeline", "operator"])
    assert told == {
        "operator": "example.com/x/trimtab-operator:1",
        "pipeline": "example.com/x/trimtab-pipeline:2",
    }
    assert pushed == [f"docker://{reference}" for reference in told.values()]


def test_jars_are_kept_by_the_content_of_their_sources(tmp_path: Path) -> None:
    paths, source = Paths(cache=tmp_path, state=STATE), tmp_path / "pom.xml"
    source.write_text("a")
    first = cached(paths, "kafka", [source])
    assert first.parent == tmp_path / "jars"
    assert first.name == "kafka-ca978112ca1b"  # what the caches of today are called
    source.write_text("b")
    assert cached(paths, "kafka", [source]) != first


def test_what_was_made_once_is_not_made_again_and_half_of_it_does_not_count(tmp_path: Path) -> None:
    target, calls = tmp_path / "jars", []

    def make(directory: Path) -> None:
        calls.append(directory)
        directory.mkdir()
        (directory / "a.jar").touch()
        if len(calls) == 1:
            raise CommandError("no network")

    with pytest.raises(CommandError):
        made_once(target, "jars", make)
    assert not target.exists()
    assert made_once(target, "jars", make) == made_once(target, "jars", make) == target
    assert [path.name for path in target.iterdir()] == ["a.jar"]
    assert len(calls) == 2


def test_an_image_of_another_checkout_is_left_alone(tmp_path: Path) -> None:
    paths = Paths(cache=tmp_path, state=STATE)
    images.write_index(paths, {"kafka": "localhost/trimtab/kafka:1", "of-a-branch": "x:2"})
    assert images.read_index(paths) == {"kafka": "localhost/trimtab/kafka:1"}
