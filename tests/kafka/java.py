"""Jars of the tests, made by the compiler in Spark's own jars: there may be no JDK."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.java_gateway import launch_gateway


def packed(folder: Path, sources: Mapping[str, str]) -> Path:
    """A jar of classes by their simple names; the compiler knows no generics and no lambdas."""
    gateway: Any = launch_gateway()
    try:
        compiler = gateway.jvm.org.codehaus.janino.Compiler()
        compiler.setDestinationDirectory(gateway.jvm.java.io.File(f"{folder}/classes"), False)
        files = gateway.new_array(gateway.jvm.java.io.File, len(sources))
        for n, (name, text) in enumerate(sources.items()):
            (folder / f"{name}.java").write_text(text)
            files[n] = gateway.jvm.java.io.File(f"{folder}/{name}.java")
        compiler.compile(files)
    finally:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(30)
    with zipfile.ZipFile(folder / "shop.jar", "w") as jar:
        for file in (folder / "classes").rglob("*.class"):
            jar.write(file, str(file.relative_to(folder / "classes")))
    return folder / "shop.jar"
