"""How results show themselves in a notebook, without knowing who draws them.

The package's front door says where the drawing functions are; results only ask here.
"""

from __future__ import annotations

from importlib import import_module

DRAWN_BY: dict[str, str] = {}
"""Name of a result's type -> "module:function" that gives an HTML fragment of it."""


def html(result: object) -> str | None:
    """The fragment that stands in a notebook's cell; None leaves the cell to the result's repr."""
    place = DRAWN_BY.get(type(result).__name__)
    if place is None:
        return None
    module, _, function = place.partition(":")
    fragment = getattr(import_module(module), function)(result)
    return str(fragment)
