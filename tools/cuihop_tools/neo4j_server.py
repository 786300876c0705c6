"""A real Neo4j on this machine without Docker: its own jars, resolved by Maven, started by its own entry point.

For tests, for continuous integration and for people with a JDK 17 or 21 and Maven but without Docker::

    python -m cuihop_tools.neo4j_server --home ~/neo4j-data

The jars are stored in a cache folder outside the project, one for each version. A server listens on the loopback
interface only, with authentication on: the program on Neo4j's own ports, 7687 and 7474, a `LocalServer` on free ones.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from cuihop.errors import CuihopError, GraphUnavailable, InputError

VERSION = "5.26.20"
"""Version of the server, of the long-term line that ``docker-compose.yml`` pins."""

_ARTIFACTS = (("org.neo4j", "neo4j"), ("org.neo4j.app", "neo4j-server"), ("org.neo4j", "neo4j-import-tool"))
_CLOSED = {
    "dbms.security.allow_csv_import_from_file_urls": "false",
    "internal.dbms.cypher_ip_blocklist": "0.0.0.0/0,::/0",
    "dbms.security.procedures.allowlist": "db.*",
}
"""Queries read no files, reach no other machine, and call no plugins: ``docker-compose.yml`` says the same."""

SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Java options without the optimising compiler, which pays off after minutes, and without threads of a collector.

Nor does such a server write an archive of its classes, which takes longer than a start.
"""

_OPENED = ("java.base/java.nio", "java.base/java.lang", "java.base/sun.nio.ch")
_SERVER = "org.neo4j.server.CommunityEntryPoint"
_VARIABLES = {"--port": "NEO4J_PORT", "--http-port": "NEO4J_HTTP_PORT"}
_LOG_LINES = 20
_FIRST_PORT, _PORTS_OF_A_BLOCK = 10_000, 50
_BOLT_HANDSHAKE = bytes.fromhex("6060b017") + bytes.fromhex("00020405") + bytes(12)


class ServerToolsMissing(GraphUnavailable):
    """Java or Maven is missing, or Maven could not resolve the server."""


def missing_tools() -> str | None:
    """The message on tools that this machine lacks, in one line; ``None`` if it lacks none."""
    lacking = [] if shutil.which("java") else ["java (a JDK 17 or 21)"]
    if not _jar_folder().is_dir() and not shutil.which("mvn"):
        lacking.append("mvn (Maven), to resolve the server's jars")
    return f"no Neo4j server can be started: {' and '.join(lacking)} not found" if lacking else None


def _jar_folder() -> Path:
    chosen = os.environ.get("CUIHOP_NEO4J_HOME")
    return (Path(chosen) if chosen else Path.home() / ".cache" / "cuihop" / f"neo4j-{VERSION}") / "lib"


def _class_archive() -> Path:
    """Classes of the server in Java's own form, beside the jars: a start takes two thirds of the processor time."""
    return _jar_folder().parent / "server-classes.jsa"


def server_jars() -> Path:
    """The folder of the server's jars; resolved by Maven on first use, which takes about a minute.

    The folder is ``~/.cache/cuihop/neo4j-VERSION/lib``, or ``lib`` in the folder that ``CUIHOP_NEO4J_HOME`` names.

    Raises:
        ServerToolsMissing: no Java, no Maven, or Maven failed; with the end of its output.
    """
    if problem := missing_tools():
        raise ServerToolsMissing(problem)
    folder = _jar_folder()
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".resolving-") as work:
        pom = Path(work) / "pom.xml"
        pom.write_text(_pom(), encoding="utf-8")
        command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime"]
        command.append(f"-DoutputDirectory={Path(work) / 'lib'}")
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise ServerToolsMissing(f"Maven could not resolve Neo4j {VERSION}:\n{_tail(done.stdout + done.stderr)}")
        with contextlib.suppress(OSError):  # another process was first; its folder is equal
            (Path(work) / "lib").rename(folder)
    return folder


def _pom() -> str:
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{VERSION}</version>"
        "</dependency>"
        for group, artifact in _ARTIFACTS
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>cuihop</groupId><artifactId>neo4j-jars</artifactId><version>1</version><packaging>pom</packaging>"
        f"<dependencies>{dependencies}</dependencies></project>\n"
    )


def _tail(text: str) -> str:
    return "\n".join(text.splitlines()[-_LOG_LINES:])


class LocalServer:
    """A Neo4j server with its data in one folder. Start it, or use it as a context manager.

    Args:
        home: the folder of data, logs and configuration; created where it is missing.
        heap, page_cache: memory of the server, as Java writes it, e.g. ``1g``.
        settings: further lines of ``neo4j.conf``, or others in place of those written here.
        java_options: of the virtual machine. ``SHORT_LIVED`` suits a server that runs for minutes.
        ports: for Bolt and for HTTP. ``None``: free ones.

    Attributes:
        address: ``bolt://127.0.0.1:PORT``. The port is the same after restarts.
        http_address: ``http://127.0.0.1:PORT``.
        user, password: the password is random, generated at the first start and stored in the folder, readable by its
            owner only.
    """

    user = "neo4j"

    def __init__(
        self,
        home: Path,
        *,
        heap: str = "1g",
        page_cache: str = "512m",
        settings: Sequence[str] = (),
        java_options: Sequence[str] = (),
        ports: tuple[int, int] | None = None,
    ) -> None:
        self.home = home
        self.heap = heap
        self._java_options = java_options
        self._process: subprocess.Popen[bytes] | None = None
        self._jars = server_jars()
        self._bolt, self._http = ports or free_ports(2)
        self.address = f"bolt://127.0.0.1:{self._bolt}"
        self.http_address = f"http://127.0.0.1:{self._http}"
        home.mkdir(parents=True, exist_ok=True)
        (home / "conf").mkdir(exist_ok=True)
        lines = {
            "server.default_listen_address": "127.0.0.1",
            "server.bolt.listen_address": f":{self._bolt}",
            "server.bolt.advertised_address": f"127.0.0.1:{self._bolt}",
            "server.http.listen_address": f":{self._http}",
            "server.memory.pagecache.size": page_cache,
            "dbms.usage_report.enabled": "false",
            "server.bolt.connection_keep_alive": "1s",
            "server.bolt.connection_keep_alive_probes": "3",
            **_CLOSED,
            **{name: value for name, _, value in (line.partition("=") for line in settings)},
        }
        text = "".join(f"{name}={value}\n" for name, value in lines.items())
        (home / "conf" / "neo4j.conf").write_text(text, encoding="utf-8")
        self.password = self._stored_password()

    def _stored_password(self) -> str:
        path = self.home / "password"
        if path.exists():
            return path.read_text(encoding="utf-8").strip()
        password = secrets.token_hex(24)  # one that begins with '-' would be an option of the server's tool
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(password + "\n")
        return password

    def _hand_password(self) -> None:
        """Make the password that of the server, before its first start."""
        if not (self.home / "data" / "dbms" / "auth.ini").exists():
            # From the file: arguments are seen by all users.
            self.admin("dbms", "set-initial-password", f"@{self.home / 'password'}")

    @property
    def pid(self) -> int | None:
        """The process of the server; ``None`` while it is stopped."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "NEO4J_HOME": str(self.home), "NEO4J_CONF": str(self.home / "conf")}

    def _java(self, heap: str, main: str, *arguments: str) -> list[str]:
        options = [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
        archive = _class_archive()
        if archive.exists():  # Java sets it aside where it was made by another version
            options.append(f"-XX:SharedArchiveFile={archive}")
        elif main == _SERVER and not set(SHORT_LIVED) <= set(self._java_options) and os.access(archive.parent, os.W_OK):
            # Without a warning for each class that is left out: they would hide why a server ended.
            options += [f"-XX:ArchiveClassesAtExit={self.home / archive.name}", "-Xlog:cds*=error"]
        # Signed jars stand with Java's own classes: elsewhere it checks their signatures at each start, for seconds.
        signed = set(self._jars.glob("eclipse-collections*.jar"))
        paths = [os.pathsep.join(map(str, sorted(jars))) for jars in (signed, {*self._jars.glob("*.jar")} - signed)]
        return [
            "java", f"-Xmx{heap}", "-XX:+ExitOnOutOfMemoryError", *self._java_options, *options,
            f"-Xbootclasspath/a:{paths[0]}", "-cp", paths[1], main, *arguments,
        ]  # fmt: skip

    def admin(self, *arguments: str) -> str:
        """Run ``neo4j-admin`` with the arguments; return its output.

        Raises:
            GraphUnavailable: it failed; with the end of its output.
        """
        command = self._java(self.heap, "org.neo4j.cli.AdminTool", *arguments)
        done = subprocess.run(  # noqa: S603
            command, env=self._environment(), cwd=self.home, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise GraphUnavailable(f"neo4j-admin {' '.join(arguments[:2])} failed:\n{_tail(done.stdout + done.stderr)}")
        return done.stdout

    def start(self, *, patience: float = 600.0) -> Self:
        """Start the server and wait until Bolt answers.

        Args:
            patience: seconds to wait.

        Raises:
            GraphUnavailable: it ended or did not answer in time; with the end of its log.
        """
        if self.pid is not None:
            return self
        self._hand_password()
        main = (_SERVER, f"--home-dir={self.home}", f"--config-dir={self.home / 'conf'}")
        with (self.home / "console.log").open("ab") as console:
            self._process = subprocess.Popen(  # noqa: S603
                self._java(self.heap, *main),
                env=self._environment(),
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C of the caller does not reach the server
            )
        until = time.monotonic() + patience
        while time.monotonic() < until:
            if self._process.poll() is not None:
                raise GraphUnavailable(f"the Neo4j server ended while starting:\n{self.log_tail()}")
            if _bolt_answers(self._bolt):
                return self
            time.sleep(0.1)
        self.kill()
        raise GraphUnavailable(f"the Neo4j server did not answer within {patience:.0f} s:\n{self.log_tail()}")

    def stop(self, *, patience: float = 60.0) -> None:
        """Shut the server down; by force after ``patience`` seconds. Harmless where it is stopped."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None
        archive = _class_archive()
        with contextlib.suppress(OSError):  # none was made
            Path(shutil.move(self.home / archive.name, archive.with_suffix(f".{os.getpid()}"))).replace(archive)

    def kill(self) -> None:
        """Kill the server, as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def log_tail(self) -> str:
        """The last lines of its logs."""
        ends = []
        for name in ("console.log", "logs/neo4j.log", "logs/debug.log"):
            if (file := self.home / name).exists():
                ends.append(f"--- {name}\n{_tail(file.read_text(encoding='utf-8', errors='replace'))}")
        return "\n".join(ends) or "(no log was written)"

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def free_ports(count: int) -> list[int]:
    """Ports for programs that are about to start: nobody listens on them, and this function gives each one only once.

    They lie below the range from which the system takes ports of connections and of listeners on port 0: one of that
    range may be in use again before the program binds it.
    """
    ports: list[int] = []
    while len(ports) < count:
        with _PORTS_LOCK:
            port = next(_PORTS)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("", port))  # on all interfaces
            ports.append(port)
    return ports


def _ports_of_this_process() -> Iterator[int]:
    """Blocks of ports, each held against other processes by a file that stays locked until this process ends."""
    folder = Path(tempfile.gettempdir()) / f"cuihop-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    blocks = range(_FIRST_PORT, _end_of_ports() - _PORTS_OF_A_BLOCK, _PORTS_OF_A_BLOCK)
    for number in range(len(blocks)):
        first = blocks[(os.getpid() + number) % len(blocks)]
        lock = os.open(folder / str(first), os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        yield from range(first, first + _PORTS_OF_A_BLOCK)
    raise RuntimeError("all ports were given away")


def _end_of_ports() -> int:
    """The first port that the system gives to connections; Linux's default if it is unknown or leaves no room."""
    with contextlib.suppress(OSError):
        first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="utf-8").split()[0])
        if first >= 2 * _FIRST_PORT:
            return first
    return 32768


_PORTS, _PORTS_LOCK = _ports_of_this_process(), threading.Lock()


def _check_free(port: int, option: str) -> None:
    """Refuse a port that is taken.

    Raises:
        InputError: names the option.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise InputError(
                f"{option}: the port cannot be used: {error.strerror}",
                found=str(port),
                expected="a free port",
                advice=f"Stop the program that listens there, or choose another: make neo4j {_VARIABLES[option]}=…",
            ) from None


def _bolt_answers(port: int) -> bool:
    """Negotiate a version of Bolt; an open port alone may belong to a server that is still starting."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            connection.sendall(_BOLT_HANDSHAKE)
            return len(connection.recv(4)) == 4
    except OSError:
        return False


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a server until it is interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m cuihop_tools.neo4j_server", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--home", type=Path, required=True, help="folder of data, logs and configuration")
    parser.add_argument("--heap", default="2g", help="memory of the server (default: %(default)s)")
    parser.add_argument("--page-cache", default="1g", help="memory for the store's pages (default: %(default)s)")
    parser.add_argument("--port", type=int, default=7687, help="port for Bolt (default: %(default)s)")
    parser.add_argument("--http-port", type=int, default=7474, help="port for HTTP (default: %(default)s)")
    chosen = parser.parse_args(arguments)
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    try:
        for option, port in (("--port", chosen.port), ("--http-port", chosen.http_port)):
            _check_free(port, option)
        home = chosen.home.expanduser().resolve()
        ports = chosen.port, chosen.http_port
        with LocalServer(home, heap=chosen.heap, page_cache=chosen.page_cache, ports=ports) as server:
            addresses = f"Neo4j {VERSION} at {server.address}, HTTP at {server.http_address}"
            print(f"{addresses}; user neo4j, password in {server.home / 'password'}", flush=True)
            while server.pid is not None and not stopped.wait(0.2):
                pass
    except CuihopError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
