"""A report as Markdown and as one HTML page; all text is data, whatever a log has put into it."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from console.job.decision_words import Section

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_MARKS = re.compile(r"([\\`*\[\]<|~]|^[#>+=-])")
"""What Markdown reads as more than itself, some of it only where a line begins. ``_`` within a word is none of it."""

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 1.5rem 0 .3rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .15rem .8rem .15rem 0; border-bottom: 1px solid #8884; }
.lead { font-weight: 600; } ul { margin: .2rem 0; padding-left: 1.2rem; }
div { overflow-x: auto; }
"""


def markdown(title: str, lead: str, sections: Iterable[Section]) -> str:
    """A report in Markdown.

    Args:
        title: Its heading.
        lead: What it says, in a sentence.
        sections: The rest.
    """
    parts = [f"# {_marked(title)}", f"**{_marked(lead)}**"]
    for section in sections:
        parts.append(f"## {_marked(section.title)}")
        if section.lines:
            parts.append("\n".join(f"- {_marked(line)}" for line in section.lines))
        if section.rows:
            parts.append("\n".join(_rows(section)))
    return "\n\n".join(parts) + "\n"


def _rows(section: Section) -> Iterator[str]:
    yield _row(section.head)
    yield _row(["---"] * len(section.head))
    for row in section.rows:
        yield _row([_marked(cell) for cell in row])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _marked(text: str) -> str:
    return _MARKS.sub(r"\\\1", plain(text))


def plain(text: str) -> str:
    """A text on one line, without what could drive a terminal or turn its direction."""
    return _CONTROLS.sub(" ", text).encode("utf-8", "replace").decode()


def page(title: str, lead: str, sections: Iterable[Section]) -> str:
    """A report as one HTML page that needs nothing else: no script, no picture, no font.

    Args:
        title: Its heading.
        lead: What it says, in a sentence.
        sections: The rest.
    """
    body = "\n".join(part for section in sections for part in _parts(section))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{_safe(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{_safe(title)}</h1>\n<p class="lead">{_safe(lead)}</p>\n{body}\n</body>\n</html>\n'
    )


def _parts(section: Section) -> Iterator[str]:
    yield f"<h2>{_safe(section.title)}</h2>"
    if section.lines:
        yield "<ul>" + "".join(f"<li>{_safe(line)}</li>" for line in section.lines) + "</ul>"
    if section.rows:
        head = "".join(f"<th>{_safe(cell)}</th>" for cell in section.head)
        rows = "".join(f"<tr>{''.join(f'<td>{_safe(cell)}</td>' for cell in row)}</tr>" for row in section.rows)
        yield f"<div><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"


def _safe(text: str) -> str:
    return escape(plain(text))
