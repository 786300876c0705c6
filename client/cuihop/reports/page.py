"""Parts of a report page: the page itself, sections, tables and lists. Every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

__all__ = ["Html", "html_of", "items", "page", "pairs_table", "section", "table"]

_STYLE = """
:root { color-scheme: light dark; --page: #fff; --text: #16202c; --faint: #4a5665; --line: #c9d1da; --head: #f2f4f7;
  --blue: #0067a3; --exact: #e3f1fa; --near-line: #a84300; --near: #fdf0e6; --none-line: #666f7a; --none: #f3f4f5; }
@media screen and (prefers-color-scheme: dark) { :root { --page: #12171d; --text: #e6ebf0; --faint: #a9b5c2;
  --line: #3c4856; --head: #1c242d; --blue: #6cb8ee; --exact: #14304a; --near-line: #f2a36b; --near: #3d2614;
  --none-line: #a0aab5; --none: #20272f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem 1.25rem 3rem; background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, "DejaVu Sans", Arial, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: .5rem 0; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .75rem; padding-bottom: .25rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
h4 { font-size: 1rem; margin: 1rem 0 .4rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; padding: 0; margin: .75rem 0; }
a { color: var(--blue); }
p, li, figcaption { max-width: 60rem; }
.faint, caption, figcaption, footer, small { color: var(--faint); }
.scroll { overflow-x: auto; margin: .75rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .95rem; }
caption { text-align: left; padding: .25rem 0; }
caption span { display: block; position: sticky; left: 0; max-width: calc(100vw - 2.5rem); }
th, td { padding: .3rem .75rem .3rem .5rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
thead th { background: var(--head); white-space: nowrap; }
tbody th { font-weight: 600; } .scroll tbody th { white-space: nowrap; }
th.number, td.number { text-align: right; white-space: nowrap; }
td svg { display: block; width: 10rem; height: 1.25rem; margin-top: .15rem; }
.pairs { margin-top: 1rem; } .pairs td { overflow-wrap: anywhere; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(19rem, 100%), 1fr)); gap: 1.25rem; }
figure { margin: 0; }
figure svg { display: block; width: 100%; max-width: 26rem; height: auto; }
svg text { fill: currentColor; font-size: 11px; }
.fill { fill: var(--blue); } .open { fill: var(--page); } .stroke { stroke: var(--blue); }
.axis { stroke: var(--line); }
.mean { stroke: var(--near-line); stroke-width: 2; }
article { margin: 1.5rem 0 2.5rem; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(16rem, 100%), 1fr)); gap: .5rem 1.25rem; }
.sides p { margin: .25rem 0; } .sides .side { font-weight: 600; }
ul.concepts, ul.legend { list-style: none; padding: 0; margin: .25rem 0; }
ul.legend { display: flex; flex-wrap: wrap; gap: .5rem; }
ul.concepts li, ul.legend li { border-left: .3rem solid; padding: .2rem .6rem; margin: .3rem 0; border-radius: .2rem; }
.exact { background: var(--exact); border-color: var(--blue) !important; }
.near { background: var(--near); border-color: var(--near-line) !important; border-left-style: dashed !important; }
.none { background: var(--none); border-color: var(--none-line) !important; border-left-style: dotted !important; }
.concepts small { display: block; color: var(--text); }
.mark { display: inline-block; min-width: 3.2em; font-weight: 600; }
code { font-size: .9em; overflow-wrap: anywhere; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: .5rem; font-size: .9rem; }
@page { size: A4; margin: 15mm; }
@media print {
  html { font-size: 9.5pt; }
  body { max-width: none; padding: 0; }
  nav { display: none; }
  .scroll { overflow: visible; }
  table { font-size: 8.5pt; } thead { display: table-header-group; }
  thead th, .scroll tbody th { white-space: normal; } caption span { max-width: none; }
  th, td { padding: .15rem .4rem .15rem .2rem; overflow-wrap: anywhere; }
  td svg { width: 6rem; }
  h2, h3, h4, caption { break-after: avoid; }
  tr, figure, li { break-inside: avoid; }
  .figures { grid-template-columns: repeat(2, 1fr); } .sides { grid-template-columns: repeat(3, 1fr); }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def html_of(text: str) -> str:
    """The text, escaped unless it is `Html`."""
    return text if isinstance(text, Html) else escape(text)


def page(title: str, lead: str, sections: Iterable[tuple[str, str]], footer: str) -> str:
    """The page; nothing in it refers to another file.

    Args:
        title: heading. lead: sentence below it.
        sections: heading and content of each, without those that are empty.
    """
    filled = [(heading, content) for heading, content in sections if content]
    links = "".join(f'<li><a href="#{_anchor(heading)}">{escape(heading)}</a></li>' for heading, _ in filled)
    parts = "\n".join(
        f'<section aria-labelledby="{_anchor(heading)}"><h2 id="{_anchor(heading)}">{escape(heading)}</h2>\n'
        f"{content}</section>"
        for heading, content in filled
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(title)}</h1>\n<p>{escape(lead)}</p></header>\n"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n<main>\n{parts}\n</main>\n'
        f"<footer><p>{escape(footer)}</p></footer>\n</body>\n</html>\n"
    )


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def section(content: Iterable[str]) -> str:
    """Parts of a section, one below the other."""
    return "\n".join(content)


def table(
    caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Iterable[int] = (),
    bold: Iterable[tuple[int, int]] = (),
) -> str:  # fmt: skip
    """A table whose rows begin with their heading, and that scrolls by itself if it is wider than the page.

    Args:
        numbers: indices of columns that are flush right. bold: cells in bold type, as (row, column).
    """
    right, strong = frozenset(numbers), frozenset(bold)

    def cell(kind: str, row: int, column: int, text: str, scope: str = "") -> str:
        content = f"<strong>{html_of(text)}</strong>" if (row, column) in strong else html_of(text)
        number = ' class="number"' if column in right else ""
        return f"<{kind}{scope}{number}>{content}</{kind}>"

    head = "".join(cell("th", -1, column, text, ' scope="col"') for column, text in enumerate(columns))
    body = "\n".join(
        "<tr>" + cell("th", row, 0, cells[0], ' scope="row"')
        + "".join(cell("td", row, column, text) for column, text in enumerate(cells[1:], start=1)) + "</tr>"
        for row, cells in enumerate(rows)
    )  # fmt: skip
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}"><table>'
        f"<caption><span>{escape(caption)}</span></caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def pairs_table(caption: str, values: Mapping[str, str]) -> str:
    """A table of names and values."""
    rows = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{html_of(value)}</td></tr>' for name, value in values.items()
    )
    return f'<table class="pairs"><caption>{escape(caption)}</caption>\n<tbody>\n{rows}\n</tbody></table>'


def items(texts: Iterable[str], kind: str = "") -> str:
    """A list; empty without texts."""
    listed = "".join(f"<li>{html_of(text)}</li>" for text in texts)
    return f"<ul{kind and f' class={kind}'}>{listed}</ul>" if listed else ""
