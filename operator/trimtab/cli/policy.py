"""`trimtab policy test`: policies against scenarios, for people and for a CI job."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from trimtab.simulation.expectations import Folder, Result, load, run


def test(folder: Path, junit: Path | None) -> tuple[str, bool]:
    """The report in words, and whether everything is as expected."""
    found = load(folder)
    results = [run(case) for case in found.cases]
    if junit:
        junit.write_bytes(_junit(found, results))
    lines = [f"WRONG {mistake}" for mistake in found.mistakes]
    for each in results:
        title = f"{each.case.name}, seed {each.case.seed}"
        lines.append(f"{'FAIL ' if each.failures else 'PASS '} {title}: {each.figures}")
        lines += [f"      {failure}" for failure in each.failures]
    failed = sum(bool(each.failures) for each in results)
    lines.append(
        f"{len(found.layers)} policies, {len(results) - failed} passed, {failed} failed,"
        f" {len(found.mistakes)} wrong"
    )
    return "\n".join(lines), not failed and not found.mistakes


def _junit(found: Folder, results: Sequence[Result]) -> bytes:
    """The results as JUnit's XML, which GitHub and GitLab show."""
    failed = sum(bool(each.failures) for each in results) + len(found.mistakes)
    count = len(results) + len(found.mistakes)
    suite = ElementTree.Element(
        "testsuite", name="trimtab policy test", tests=str(count), failures=str(failed)
    )
    for mistake in found.mistakes:
        case = ElementTree.SubElement(suite, "testcase", name="policies", classname="policies")
        ElementTree.SubElement(case, "failure", message=mistake)
    for each in results:
        name = f"{each.case.name}, seed {each.case.seed}"
        case = ElementTree.SubElement(suite, "testcase", name=name, classname=each.case.file)
        if each.failures:
            failure = ElementTree.SubElement(case, "failure", message="; ".join(each.failures))
            failure.text = each.figures
    return bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True))
