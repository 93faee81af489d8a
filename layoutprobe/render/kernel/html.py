"""The page on which a kernel is looked into: its frame; what is in it is drawn by the page's script."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from layoutprobe.render import html
from layoutprobe.render.html import definitions
from layoutprobe.render.kernel.data import document
from layoutprobe.render.sites import verdict
from layoutprobe.report.kernel_view import KernelView

_STYLE = ".layoutprobe { max-width: 104rem; }"


def write(view: KernelView, stream: TextIO) -> None:
    """Write the page."""
    sites = view.sites
    title = f"layoutprobe inspect: {sites.kernel} on {sites.target}, {sites.size}"
    html.write_page(title, _body(view), stream, style=_STYLE, data=document(view))


def _body(view: KernelView) -> Iterator[str]:
    outcome = verdict(view.sites)
    yield html.verdict(outcome.word, outcome.word, outcome.sentence, outcome.basis)
    yield '<div id="kernel"></div>\n'
    yield f"<noscript>{definitions(_without_script(view))}</noscript>\n"
    if view.toolchain:
        built = definitions(((name, str(value)) for name, value in view.toolchain.items()), code=True)
        yield f'<details><summary><h2>Toolchain</h2></summary><div class="body">{built}</div></details>\n'


def _without_script(view: KernelView) -> Iterator[tuple[str, str]]:
    """What stands there where scripts are off: the list of matrix instructions."""
    yield "pictures", "are drawn by this page's own script, which is switched off"
    for site in view.sites.sites:
        wrong = "; ".join(f"{matrix} {how}" for matrix, how in site.wrong) or site.lost or "right"
        yield f"{site.number}", f"{site.place.site}: {wrong}"
