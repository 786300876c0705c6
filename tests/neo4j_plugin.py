"""A plugin of a Neo4j server with a procedure and a function of its own, compiled where the tests run."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from cuihop_tools.neo4j_server import LocalServer, server_jars

__all__ = ["PLUGIN_ANSWER", "with_plugin"]

PLUGIN_ANSWER = "answered-by-a-plugin"
"""What ``CALL other.read()`` and ``other.fetch()`` return; ``other.wait(milliseconds)`` returns after this time."""

_SOURCE = """
import org.neo4j.procedure.*;
import java.util.stream.Stream;
public class Other {
    public static class Row { public String value; public Row(String value) { this.value = value; } }
    @Procedure(name = "other.read", mode = Mode.READ)
    public Stream<Row> read() { return Stream.of(new Row(fetch())); }
    @UserFunction(name = "other.fetch")
    public String fetch() { return "ANSWER"; }
    @UserFunction(name = "other.wait")
    public long pause(@Name("milliseconds") long milliseconds) throws InterruptedException {
        Thread.sleep(milliseconds);
        return milliseconds;
    }
}
"""


def with_plugin(server: LocalServer) -> LocalServer:
    """The same server, not yet started, with the plugin in its folder."""
    plugins = server.home / "plugins"
    plugins.mkdir(exist_ok=True)
    (plugins / "other.jar").write_bytes(_plugin())
    return server


@cache
def _plugin() -> bytes:
    (api,) = server_jars().glob("neo4j-procedure-api-*.jar")
    with TemporaryDirectory() as folder:
        source = Path(folder) / "Other.java"
        source.write_text(_SOURCE.replace("ANSWER", PLUGIN_ANSWER), encoding="utf-8")
        subprocess.run(["javac", "-cp", str(api), "-d", f"{folder}/made", str(source)], check=True)
        return Path(shutil.make_archive(f"{folder}/other", "zip", f"{folder}/made")).read_bytes()
