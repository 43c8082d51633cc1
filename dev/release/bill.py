"""Bills of materials, in the format CycloneDX: what each thing that is shipped is made of."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from dev.localcluster.paths import Paths
from dev.localcluster.versions import DEBIAN_SUITE, go_tool
from dev.release.debian import Package
from dev.release.maven import Jar, jars
from dev.release.names import Release
from dev.release.packages import closure, pins
from packageurl import PackageURL

EXTRAS = {"cli": "cli", "operator": "operator", "pipeline": "job"}
"""The extra of trimtab in each thing that has Python packages."""
PROFILES = {"kafka": "kafka", "pipeline": "spark"}
"""The profile of images/pom.xml in each image that has jars."""


def bill(release: Release, paths: Paths, name: str, installed: Iterable[Package] = ()) -> str:
    """The bill of the command line or an image, whose Debian packages are `installed`."""
    parts = [*_debian(installed)]
    if name in EXTRAS:
        parts += _python(EXTRAS[name])
    if name in PROFILES:
        parts += _maven(jars(paths, PROFILES[name]))
    if name == "prometheus":
        tool = go_tool(name)
        parts.append(part(PackageURL.from_string(f"pkg:golang/{tool.module}@{tool.version()}")))
    return document(release, name, parts)


def document(release: Release, name: str, parts: Iterable[Component]) -> str:
    """The bill as JSON; the same parts make the same text."""
    whole = Component(
        name=f"trimtab-{name}", version=release.version, type=ComponentType.APPLICATION,
        bom_ref=f"trimtab-{name}@{release.version}",
    )  # fmt: skip
    made = Bom(
        metadata=BomMetaData(component=whole, timestamp=datetime.fromtimestamp(release.epoch, UTC)),
        serial_number=uuid.uuid5(uuid.NAMESPACE_OID, f"trimtab-{name}@{release.version}"),
        components=parts,
    )
    made.register_dependency(whole, made.components)
    return JsonV1Dot6(made).output_as_string(indent=1) + "\n"


def _python(extra: str) -> Iterator[Component]:
    known = pins()
    for name in closure(extra):
        _, version = known[name].split()[0].split("==")
        yield part(PackageURL("pypi", name=name, version=version))


def _maven(found: Iterable[Jar]) -> Iterator[Component]:
    for group, artefact, version, digest in found:
        yield part(PackageURL("maven", group, artefact, version), digest)


def _debian(found: Iterable[Package]) -> Iterator[Component]:
    for name, version, architecture in found:
        about = {"arch": architecture, "distro": DEBIAN_SUITE}
        yield part(PackageURL("deb", "debian", name, version, about))


def part(url: PackageURL, digest: str = "") -> Component:
    """One package; the digest is the SHA-256 of its file."""
    return Component(
        name=url.name, group=url.namespace, version=url.version, purl=url, bom_ref=str(url),
        type=ComponentType.LIBRARY,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)] if digest else [],
    )  # fmt: skip
