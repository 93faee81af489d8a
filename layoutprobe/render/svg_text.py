"""Fonts, colours and safe text that every picture shares."""

from __future__ import annotations

import colorsys
from html import escape

from layoutprobe.render.text import printable

SANS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MONO = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def tint(index: int, of: int) -> str:
    """A light colour for index `index` of `of`; neighbours differ in hue and in lightness."""
    hue = (index % max(of, 1)) / max(of, 1)
    red, green, blue = colorsys.hls_to_rgb(hue, 0.84 if index % 2 else 0.76, 0.62)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


def safe(text: str) -> str:
    """Text that can do nothing but be read: no markup, no control characters."""
    return escape(printable(text))
