"""What each image is made of; its tag is a hash of exactly that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dev.localcluster.versions import DEBIAN_SUITE, content_hash, go_tool

REGISTRY = "localhost/trimtab"
IGNORED_DIRECTORIES = ("__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache")


@dataclass(frozen=True)
class Recipe:
    """One image: its Dockerfile, and everything else that the result depends on."""

    name: str
    inputs: tuple[str, ...] = ()  # files and directories in the repository, besides its own
    images: Mapping[str, str] = field(default_factory=dict)  # build argument -> image name
    contexts: tuple[str, ...] = ()  # named contexts that images.py prepares
    main_context: str = ""  # one of them that is the main context instead of the repository
    salt: str = ""  # whatever else changes the result
    loaded: bool = True  # whether pods use it

    @property
    def directory(self) -> str:
        """Its directory in the repository."""
        return f"images/{self.name}"


_PYTHON = ("pyproject.toml", "constraints.txt", "README.md", "LICENSE", "images/lock.py",
           "operator")  # fmt: skip

# In build order: an image comes after those that it is built on.
RECIPES = (
    Recipe("pause", contexts=("busybox",)),
    Recipe("base", contexts=("rootfs",), main_context="rootfs", salt=DEBIAN_SUITE, loaded=False),
    Recipe("jars", ("images/pom.xml",), {"PAUSE": "pause"}, contexts=("jars",), loaded=False),
    Recipe("kafka", ("images/pom.xml",), {"BASE": "base", "MAVEN": "jars"}),
    Recipe("pipeline", (*_PYTHON, "images/pom.xml"), {"BASE": "base", "MAVEN": "jars"}),
    Recipe(
        "prometheus",
        images={"BASE": "base"},
        contexts=("prometheus",),
        salt=go_tool("prometheus").key(),
    ),
    Recipe("operator", _PYTHON, {"BASE": "base"}),
    Recipe("quick-kafka", images={"BASE": "kafka"}),
    Recipe("quick-pipeline", images={"BASE": "pipeline"}),
)


def recipe(name: str) -> Recipe:
    """Return the recipe with that name.

    Raises:
        KeyError: there is none.
    """
    return {each.name: each for each in RECIPES}[name]


def input_files(root: Path, inputs: tuple[str, ...]) -> list[Path]:
    """Return all files of a list of files and directories, sorted, without caches.

    Raises:
        FileNotFoundError: an input is missing.
    """
    found: set[Path] = set()
    for each in inputs:
        path = root / each
        if path.is_dir():
            found.update(p for p in path.rglob("*") if p.is_file() and not _ignored(p))
        elif path.is_file():
            found.add(path)
        else:
            raise FileNotFoundError(f"{each}: an image is made of it, but it is missing")
    return sorted(found)


def _ignored(path: Path) -> bool:
    return path.suffix == ".pyc" or any(part in IGNORED_DIRECTORIES for part in path.parts)


def tag(root: Path, wanted: Recipe) -> str:
    """Return ``localhost/trimtab/<name>:<hash>``; the hash covers the images below it too.

    File modes count: a script that is not executable makes another image.
    """
    parts = [wanted.salt.encode()]
    for file in input_files(root, (wanted.directory, *wanted.inputs)):
        executable = b"x" if file.stat().st_mode & 0o100 else b"-"
        parts += [str(file.relative_to(root)).encode(), executable, file.read_bytes()]
    for argument, name in sorted(wanted.images.items()):
        parts += [argument.encode(), tag(root, recipe(name)).encode()]
    return f"{REGISTRY}/{wanted.name}:{content_hash(parts)}"


def needed_for(names: list[str]) -> list[Recipe]:
    """Return the recipes of some images and of all below them, in build order."""
    wanted: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        wanted.add(name)
        todo += [n for n in recipe(name).images.values() if n not in wanted]
    return [each for each in RECIPES if each.name in wanted]
