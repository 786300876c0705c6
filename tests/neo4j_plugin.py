"""A plugin of a Neo4j server with a procedure and a function of its own, compiled where the tests run."""

from __future__ import annotations

import shutil
import subprocess

from cuihop_tools.neo4j_server import LocalServer, server_jars

__all__ = ["PLUGIN_ANSWER", "with_plugin"]

PLUGIN_ANSWER = "answered-by-a-plugin"
"""What ``CALL other.read()`` and ``other.fetch()`` return."""

_SOURCE = """
import org.neo4j.procedure.*;
import java.util.stream.Stream;
public class Other {
    public static class Row { public String value; public Row(String value) { this.value = value; } }
    @Procedure(name = "other.read", mode = Mode.READ)
    public Stream<Row> read() { return Stream.of(new Row(fetch())); }
    @UserFunction(name = "other.fetch")
    public String fetch() { return "ANSWER"; }
}
"""


def with_plugin(server: LocalServer) -> LocalServer:
    """The same server, not yet started, with the plugin in its folder."""
    plugins = server.home / "plugins"
    plugins.mkdir(exist_ok=True)
    source = plugins / "Other.java"
    source.write_text(_SOURCE.replace("ANSWER", PLUGIN_ANSWER), encoding="utf-8")
    (api,) = server_jars().glob("neo4j-procedure-api-*.jar")
    subprocess.run(["javac", "-cp", str(api), "-d", str(plugins / "made"), str(source)], check=True)
    archive = shutil.make_archive(str(plugins / "other"), "zip", plugins / "made")
    shutil.move(archive, plugins / "other.jar")
    return server
