from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from trimtab.cli import main
from trimtab.cli.produce import client_config
from trimtab.errors import BadInputError


def test_properties_are_read_line_by_line() -> None:
    text = "# a login\nsecurity.protocol = SASL_SSL\n\nsasl.password=a=b\n"
    assert client_config(text) == {"security.protocol": "SASL_SSL", "sasl.password": "a=b"}


def test_a_line_that_is_none_is_named() -> None:
    with pytest.raises(BadInputError, match="line 2 of --client-config is not name=value"):
        client_config("a=b\nsasl.password\n")


@pytest.mark.parametrize("line", ["no.such.option=1", "security.protocol=NONE"])
def test_what_the_client_refuses_is_said(tmp_path: Path, line: str) -> None:
    file = tmp_path / "client.properties"
    file.write_text(line)
    where = ["produce", "-b", "127.0.0.1:1", "-t", "clicks", "-F", str(file)]
    done = CliRunner().invoke(main, where)
    assert done.exit_code == 1
    assert "Kafka's client refuses its configuration" in done.output
    assert line.split("=", maxsplit=1)[0] in done.output
