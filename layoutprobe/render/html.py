"""The one page that every HTML report is: nothing from elsewhere, light and dark.

A report is a <section> that brings its own style, so that it can stand in a notebook's cell too. A page may carry
one script (`page.js`), which draws what is in its data; the page's policy lets no other run, and nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, TextIO

from layoutprobe.render.look import MONO, PALETTE, SANS, TINTS, TONES, UNICODE
from layoutprobe.text import printable

SCRIPT = Path(__file__).with_name("page.js")
"""Built from page/ at the top of the checkout: see ARCHITECTURE.md."""
DATA = "layoutprobe-data"
"""Id of the element that holds the script's data."""
_IN_MARKUP = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}


def safe(text: str) -> str:
    """Text that can do nothing but be read: no markup, no control characters."""
    return escape(printable(text))


def _colours(theme: str) -> str:
    (even, odd), saturation = TINTS[theme]
    tints = f"--tint-even: {even}%; --tint-odd: {odd}%; --tint-strong: {saturation}%;"
    return " ".join(f"--{name}: {colour};" for name, colour in PALETTE[theme].items()) + " " + tints


def _tones() -> str:
    return "\n".join(
        f".layoutprobe .{word} {{ --tone: var(--{tone}); --wash: var(--{tone}-bg); }}"
        for word, tone in TONES.items()
    )


STYLE = f"""
.layoutprobe {{ {_colours("light")}
  color: var(--ink); background: var(--paper); font: 15px/1.55 {SANS};
  max-width: 66rem; margin: 0 auto; padding: 1.5rem 1.25rem 3rem; }}
@media (prefers-color-scheme: dark) {{ .layoutprobe {{ {_colours("dark")} }} }}
{_tones()}
.layoutprobe * {{ box-sizing: border-box; }}
.layoutprobe h1 {{ font-size: 1.1rem; font-weight: 600; color: var(--soft); margin: 0 0 .75rem;
  overflow-wrap: anywhere; }}
.layoutprobe h2 {{ font-size: 1.15rem; margin: 1.5rem 0 .5rem; overflow-wrap: anywhere; }}
.layoutprobe h2 small {{ font-weight: 400; color: var(--soft); font-size: .9rem; }}
.layoutprobe h3 {{ font-size: 1rem; margin: 1.2rem 0 .3rem; overflow-wrap: anywhere; }}
.layoutprobe .verdict {{ display: flex; gap: 1rem; align-items: center; margin: 0 0 1.5rem;
  padding: 1rem 1.25rem; border: 1px solid var(--line); border-left: 6px solid var(--tone);
  border-radius: 8px; background: var(--wash); }}
.layoutprobe .verdict b {{ color: var(--tone); font-size: 1.25rem; letter-spacing: .02em; white-space: nowrap; }}
.layoutprobe .verdict span {{ overflow-wrap: anywhere; }}
.layoutprobe .verdict small {{ display: block; color: var(--soft); }}
.layoutprobe .scroll {{ overflow-x: auto; margin: 0 0 1.5rem; }}
.layoutprobe .scroll svg {{ max-width: none; height: auto; display: block; }}
.layoutprobe dl {{ display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: .15rem 1rem; margin: .8rem 0; }}
.layoutprobe dt {{ color: var(--soft); }}
.layoutprobe dd {{ margin: 0; overflow-wrap: anywhere; }}
.layoutprobe code {{ font: .87em/1.5 {MONO}; }}
.layoutprobe table {{ border-collapse: collapse; width: 100%; font-size: .9rem; }}
.layoutprobe th, .layoutprobe td {{ padding: .4rem .7rem; border-bottom: 1px solid var(--line);
  text-align: center; color: var(--ink); background: transparent; }}
.layoutprobe thead th {{ background: var(--shade); color: var(--soft); font-weight: 600; white-space: nowrap; }}
.layoutprobe th:first-child {{ text-align: left; }}
.layoutprobe th a {{ color: inherit; }}
.layoutprobe i {{ display: inline-block; min-width: 1.5em; padding: 0 .3em; border-radius: 5px;
  font-style: normal; font-weight: 700; text-align: center; color: var(--tone); background: var(--wash); }}
.layoutprobe details {{ border: 1px solid var(--line); border-radius: 8px; margin: 0 0 1rem; overflow: hidden; }}
.layoutprobe summary {{ display: flex; gap: .75rem; align-items: baseline; padding: .7rem 1rem;
  cursor: pointer; background: var(--shade); list-style: none; }}
.layoutprobe summary::-webkit-details-marker {{ display: none; }}
.layoutprobe summary h2 {{ margin: 0; }}
.layoutprobe summary em {{ margin-left: auto; color: var(--soft); font-style: normal; font-size: .9rem;
  text-align: right; }}
.layoutprobe .body {{ padding: .25rem 1rem 1rem; }}
.layoutprobe ul {{ list-style: none; margin: 0; padding: 0; }}
.layoutprobe li {{ display: grid; grid-template-columns: 1.6em 13rem minmax(0, 1fr); gap: 0 .7rem;
  padding: .35rem 0; border-top: 1px solid var(--line); }}
.layoutprobe li:first-child {{ border-top: 0; }}
.layoutprobe li > * {{ overflow-wrap: anywhere; }}
.layoutprobe li b {{ font-weight: 600; }}
.layoutprobe li.skipped, .layoutprobe li.skipped b {{ color: var(--soft); font-weight: 400; }}
.layoutprobe .card {{ border: 1px solid var(--line); border-left: 4px solid var(--tone); border-radius: 8px;
  padding: .8rem 1rem .3rem; margin: 1rem 0 0; }}
.layoutprobe .card h3 {{ color: var(--tone); margin-top: 0; }}
.layoutprobe .card p {{ margin: 0 0 .5rem; overflow-wrap: anywhere; white-space: pre-wrap; }}
.layoutprobe .place {{ font: .85em {MONO}; color: var(--soft); float: right; }}
@media (max-width: 640px) {{
  .layoutprobe {{ padding: 1rem .75rem 3rem; }}
  .layoutprobe .verdict, .layoutprobe summary {{ flex-wrap: wrap; gap: .25rem .75rem; }}
  .layoutprobe summary em {{ margin-left: 0; text-align: left; flex-basis: 100%; }}
  .layoutprobe li {{ grid-template-columns: 1.6em minmax(0, 1fr); }}
  .layoutprobe li > div {{ grid-column: 2; }}
  .layoutprobe dl {{ grid-template-columns: minmax(0, 1fr); gap: 0; }}
  .layoutprobe dd {{ margin: 0 0 .4rem; }}
  .layoutprobe .place {{ float: none; display: block; }}
}}
@media print {{ .layoutprobe {{ max-width: none; }}
  .layoutprobe details, .layoutprobe .card {{ break-inside: avoid; }} }}
"""


def write_page(
    title: str,
    body: Iterable[str],
    stream: TextIO,
    *,
    style: str = "",
    theme: str = "auto",
    data: object = None,
) -> None:
    """Write a whole document around a report.

    Args:
        title: its heading.
        body: its markup, in pieces.
        stream: where it goes.
        style: further rules of this kind of report.
        theme: "light", "dark", or "auto": as the reader's.
        data: what the page's script draws, as JSON's types; None for a page without script.
    """
    script = "" if data is None else _script()
    tail = "" if data is None else f"{embedded(data)}<script>{script}</script>\n"
    stream.write(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="{"light dark" if theme == "auto" else theme}">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">\n'
        f"<title>{safe(title)}</title>\n<style>body {{ margin: 0; background: Canvas; }}</style>\n"
        f"</head>\n<body>\n{section(title, body, style=style, theme=theme)}{tail}</body>\n</html>\n"
    )


@cache
def _script() -> str:
    return SCRIPT.read_text("utf-8")


def _policy(script: str) -> str:
    """Nothing is fetched, nothing sent, and no script runs but this one."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    runs = f"'sha256-{digest}'" if script else "'none'"
    return f"default-src 'none'; script-src {runs}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def embedded(data: Any) -> str:
    """Data of the page's script: JSON in which no name, whatever it is, can end the element that holds it."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).translate(_IN_MARKUP)
    return f'<script type="application/json" id="{DATA}">{text}</script>\n'


def section(title: str, body: Iterable[str], *, style: str = "", theme: str = "auto") -> str:
    """A report as one <section> that brings its own style, for a page or a notebook's cell."""
    pinned = "" if theme == "auto" else f"\n.layoutprobe {{ {_colours(theme)} }}\n"
    css = f"<style>{STYLE}{style}{pinned}</style>"
    return f'<section class="layoutprobe">\n{css}\n<h1>{safe(title)}</h1>\n{"".join(body)}</section>\n'


def verdict(word: str, name: str, sentence: str, basis: str) -> str:
    """The banner: sign and name of the outcome, what it means, and what it rests on."""
    return (
        f'<div class="verdict {word}" role="status"><b>{UNICODE.sign(word)} {safe(name.upper())}</b>'
        f"<span>{safe(sentence)}<small>evidence: {safe(basis)}</small></span></div>\n"
    )


def sign(word: str) -> str:
    """Sign of an outcome or of the status of a check."""
    return f'<i class="{word}" title="{word}">{UNICODE.sign(word)}</i>'


def definitions(pairs: Iterable[tuple[str, str]], code: bool = False) -> str:
    """Labels and texts as a <dl>."""
    before, after = ("<code>", "</code>") if code else ("", "")
    rows = (f"<dt>{safe(label)}</dt><dd>{before}{safe(text)}{after}</dd>\n" for label, text in pairs)
    return f"<dl>\n{''.join(rows)}</dl>\n"


def table(heads: Iterable[str], rows: Iterable[str], css: str = "") -> Iterator[str]:
    """Column heads, and rows that are markup already, in a box of its own that scrolls."""
    yield f'<div class="scroll"><table class="{css}">\n<thead><tr>'
    yield "".join(f'<th scope="col">{safe(head)}</th>' for head in heads) + "</tr></thead>\n<tbody>\n"
    yield from rows
    yield "</tbody></table></div>\n"
