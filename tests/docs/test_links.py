"""Links to elsewhere: well-formed, and only to places known here. `make links` follows them; this needs no network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from shared_data import ROOT

FORMS = {
    "arxiv.org": r"/abs/\d{4}\.\d{5}",
    "bioregistry.io": r"",
    "distributed.dask.org": r"/en/stable/(tls\.html)?",
    "doi.org": r"/10\.\d{4,}/[\w.-]+",
    "github.com": r"/[\w.-]+/[\w.-]+(/issues/\d+)?",
    "hpo.jax.org": r"(/license)?",
    "js.cytoscape.org": r"/",
    "keepachangelog.com": r"/en/1\.1\.0/",
    "metacpan.org": r"/pod/\w+(::\w+)*",
    "modelcontextprotocol.io": r"",
    "neo4j.com": r"/docs/[\w.-]+(/[\w.-]+)*/",
    "networkx.org": r"",
    "obofoundry.org": r"(/ontology/\w+\.html)?",
    "pmc.ncbi.nlm.nih.gov": r"/articles/PMC\d+/",
    "pypi.org": r"/project/\w+/",
    "semver.org": r"/spec/v2\.0\.0\.html",
    "uts.nlm.nih.gov": r"/uts/(signup-login|assets/LicenseAgreement\.pdf)",
    "www.contributor-covenant.org": r"/version/2/1/code_of_conduct/",
    "www.ebi.ac.uk": r"/ols4",
    "www.nlm.nih.gov": r"/(research/umls/(licensedcontent/umlsknowledgesources\.html)?|databases/download/mesh\.html)",
}
"""Host → what a path there looks like. A host is added by hand, once somebody has looked at it."""


PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "docs").rglob("*.ipynb"),
    *(ROOT / "benchmarks").glob("*.md"),
]


def tokens(text: str) -> Iterator[Token]:
    """The pieces of Markdown's lines; what stands in a block of code is none."""
    for block in MarkdownIt("commonmark").enable("table").parse(text):
        yield from block.children or ()


def links(text: str) -> Iterator[str]:
    """Targets of links and pictures."""
    for token in tokens(text):
        place = token.attrs.get("href") or token.attrs.get("src")
        if place is not None:
            yield str(place)


def external() -> list[tuple[str, str]]:
    """Page and link."""
    return [
        (page.relative_to(ROOT).as_posix(), link)
        for page in PAGES
        for link in links(page.read_text(encoding="utf-8").replace("\\n", "\n"))
        if urlsplit(link).scheme and urlsplit(link).hostname != "127.0.0.1"  # the reader's own service
    ]


def test_external_links_are_well_formed_and_of_listed_hosts() -> None:
    found = external()
    assert len(found) > 20
    for page, link in found:
        parts = urlsplit(link)
        place = f"{page}: {link}"
        assert parts.scheme == "https", place
        assert parts.netloc in FORMS, f"{place}: look at it, then add its host to FORMS"
        assert re.fullmatch(FORMS[parts.netloc], parts.path), place
        assert not parts.query, place
        assert not parts.fragment, place


def test_every_listed_host_has_a_link() -> None:
    assert {urlsplit(link).netloc for _, link in external()} == set(FORMS)


@pytest.mark.slow
def test_no_address_stands_bare_in_a_text() -> None:
    """A bare address is a link for some readers of Markdown and not for others, so that no check would see it."""
    for page in PAGES:
        if page.suffix == ".md":
            found = list(tokens(page.read_text(encoding="utf-8")))
            inside = {id(found[at + 1]) for at, token in enumerate(found) if token.type == "link_open"}
            bare = [t.content for t in found if t.type == "text" and "://" in t.content and id(t) not in inside]
            assert bare == [], page.name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[a](https://b.c/d) and `[no](https://x)`", ["https://b.c/d"]),
        ("| a |\n|---|\n| [x](https://b.c) ![p](pic.svg) |", ["https://b.c", "pic.svg"]),
        ("```\n[a](https://b.c)\n```", []),
        ("<https://b.c>", ["https://b.c"]),
    ],
)
def test_what_counts_as_a_link(text: str, found: list[str]) -> None:
    assert list(links(text)) == found
