"""The page of errors has every error, with its exit code and statuses."""

from __future__ import annotations

import re

from cuihop import errors
from cuihop.cli import exit_code
from cuihop.remote.statuses import status_of
from shared_data import ROOT

PARENTS = {errors.CuihopError, errors.ConceptError, errors.GraphError, errors.AccessError}


def below(kind: type[errors.CuihopError]) -> set[type[errors.CuihopError]]:
    return {kind}.union(*map(below, kind.__subclasses__()))


def test_the_page_has_each_error_with_its_exit_code_and_statuses() -> None:
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    expected = set()
    for kind in below(errors.CuihopError) - PARENTS:
        if kind.__module__ == errors.__name__:
            error = kind.__new__(kind)
            status = status_of(error)
            retry = "yes" if status.retry else ""
            expected.add((kind.__name__, str(exit_code(error)), status.reason, str(status.http), status.grpc, retry))
    row = r"^\| `(\w+)` \| (\d+) \| `(\w+)` \| (\d+) \| `(\w+)` \| ?(yes|) ?\|"
    assert set(re.findall(row, page, re.MULTILINE)) == expected
