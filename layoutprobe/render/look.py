"""How things look, wherever they are shown: signs, marks, colours and fonts. Imports no terminal library."""

from __future__ import annotations

import colorsys
from enum import IntEnum

from msgspec import Struct

SANS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MONO = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"

PALETTE = {
    "light": {
        "ink": "#1f2328",
        "soft": "#59636e",
        "line": "#d1d9e0",
        "paper": "#ffffff",
        "shade": "#f6f8fa",
        "good": "#1a7f37",
        "bad": "#cf222e",
        "unsure": "#9a6700",
        "off": "#818b98",
        "copy": "#0969da",
        "wrong": "#a40e26",
        "right": "#0f5323",
        "good-bg": "#dafbe1",
        "bad-bg": "#ffebe9",
        "unsure-bg": "#fff8c5",
        "off-bg": "#eff2f5",
    },
    "dark": {
        "ink": "#e6edf3",
        "soft": "#9198a1",
        "line": "#3d444d",
        "paper": "#0d1117",
        "shade": "#151b23",
        "good": "#3fb950",
        "bad": "#ff7b72",
        "unsure": "#d29922",
        "off": "#7d8590",
        "copy": "#79c0ff",
        "wrong": "#ffb3ad",
        "right": "#9be9a8",
        "good-bg": "#12261e",
        "bad-bg": "#2d1417",
        "unsure-bg": "#272115",
        "off-bg": "#1c2129",
    },
}
"""Theme -> name -> colour. wrong and right are text upon a coloured slot."""

TINTS = {"light": ((76, 86), 65), "dark": ((21, 28), 50)}
"""Theme -> lightness of even and odd colours behind text, and their saturation, in percent."""

TONES = {"holds": "good", "finding": "bad", "undecided": "unsure", "skipped": "off"}
"""Outcome, or status of a check -> its colour in PALETTE."""

STYLES = {
    "holds": "bold green",
    "finding": "bold red",
    "undecided": "bold yellow",
    "skipped": "bright_black",
}
"""Outcome, or status of a check -> its style in a terminal."""

WORDS = ("holds", "finding", "undecided")
"""Exit code -> the stable name of the outcome."""


def tint(index: int, of: int, theme: str = "light") -> str:
    """A colour behind text, for index `index` of `of`; neighbours differ in hue and in lightness."""
    lightness, saturation = TINTS[theme]
    rgb = colorsys.hls_to_rgb((index % max(of, 1)) / max(of, 1), lightness[index % 2] / 100, saturation / 100)
    return "#" + "".join(f"{round(part * 255):02x}" for part in rgb)


class Mark(IntEnum):
    """What is remarkable about a slot. Of several, the highest is shown."""

    NONE = 0
    COPY = 1
    """The element also sits in another VGPR or field of the wave."""
    DEAD = 2
    """No output of the instruction depends on the slot."""
    UNKNOWN = 3
    """The patterns leave open which element the slot holds."""
    HOLE = 4
    """The slot holds no element of the matrix."""
    MISMATCH = 5
    """The slot holds something else than it should."""


MARK_STYLES = {
    Mark.NONE: "",
    Mark.COPY: "cyan",
    Mark.DEAD: "bright_black",
    Mark.UNKNOWN: "yellow",
    Mark.HOLE: "yellow",
    Mark.MISMATCH: "bold red",
}
"""Mark -> its style in a terminal."""


class Glyphs(Struct, frozen=True):
    """Characters that depend on what the stream can carry."""

    hole: str
    bar: str
    rule: str
    cross: str
    good: str
    bad: str
    unsure: str
    dash: str

    def mark(self, mark: int) -> str:
        """Character in front of an element; holes are their own mark."""
        return {Mark.MISMATCH: "!", Mark.DEAD: "~", Mark.COPY: "="}.get(Mark(mark), "")

    def sign(self, word: str) -> str:
        """Sign of an outcome or of the status of a check."""
        signs = {"holds": self.good, "finding": self.bad, "undecided": self.unsure, "skipped": self.dash}
        return signs[word]


UNICODE = Glyphs(hole="·", bar="│", rule="─", cross="┼", good="✓", bad="✗", unsure="?", dash="–")
ASCII = Glyphs(hole=".", bar="|", rule="-", cross="+", good="+", bad="x", unsure="?", dash="-")
