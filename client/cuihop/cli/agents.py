"""``cuihop service mcp``: tools for language-model agents over standard input and output."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from cuihop.addresses import is_remote_address
from cuihop.cli.graph_option import EdgeOptions
from cuihop.cli.option_groups import option, option_group
from cuihop.errors import ReleaseMismatch
from cuihop.graph import ConceptGraph
from cuihop.resources.optional_packages import installed_by

if TYPE_CHECKING:
    from cuihop.agents.arguments import Arguments
    from cuihop.agents.tools import AgentTool


@option_group
class _Options(EdgeOptions):
    hide_names: bool = option("Leave out names, synonyms and definitions, and refuse searches by name.", default=False)


def mcp(options: _Options) -> None:
    """Serve tools to a language-model agent (Model Context Protocol, standard input and output).

    The agent's client starts this command. Answers go to the provider of its model; the names of UMLS are licensed.
    """
    with installed_by("cuihop[mcp]"):
        import anyio

        from cuihop.agents.server import serve_standard_streams

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the thread that waits for input would hold the process
    with _Graphs(options, names=not options.hide_names) as graphs:
        anyio.run(serve_standard_streams, graphs.answer)


class _Graphs:
    """The graph of the command, opened again after its release was replaced; ``names=False`` hides names."""

    def __init__(self, source: EdgeOptions, *, names: bool) -> None:
        self._source = source
        self._names = names
        self._lock = threading.Lock()
        self._opened = ExitStack()  # an answer may still come from a graph that was replaced

    def __enter__(self) -> _Graphs:
        self._graph = self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def answer(self, tool: AgentTool, arguments: Arguments) -> dict[str, Any]:
        """The answer of a tool: see `AgentTool.answer`."""
        graph = self._graph
        try:
            return tool.answer(graph, arguments, names=self._sees_names(graph))
        except ReleaseMismatch:
            with self._lock:
                if self._graph is graph:
                    self._graph = self._open()
            return tool.answer(self._graph, arguments, names=self._sees_names(self._graph))

    def _open(self) -> ConceptGraph:
        return self._opened.enter_context(self._source.opened())

    def _sees_names(self, graph: ConceptGraph) -> bool:
        """True if names may be read: a service may hide them from the key."""
        if not self._names or not is_remote_address(self._source.graph):
            return self._names
        from cuihop.remote.graph import RemoteGraph

        return not isinstance(graph, RemoteGraph) or graph.service.names
