"""Another part of a lane's number, and the other one of two buffers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from layoutprobe.rewrites.known import CONSTANT
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.expressions import before


def lanes(spot: Spot) -> Iterator[Rewrite]:
    """Another part of a lane's or thread's number: its place in a half-wave or wave, or which of these it is in. And
    the workgroup's other axis, where that counts them."""
    source, tokens = spot.source, spot.source.tokens
    for i in spot.within:
        if tokens[i].text not in ("/", "%", "&", ">>") or not re.search(
            r"lane|tid|thread|frag", before(source, i), re.I
        ):
            continue
        if i + 1 == spot.within.stop:  # nothing follows in a macro's body
            continue
        head = source.slice(i - _AXIS, i)
        for axis in (f"threadIdx.{axis}" for axis in "xyz" if head.startswith("threadIdx.")):
            if axis in spot.axes and axis != head:
                yield replace(spot.replace(i - _AXIS, i + 2, axis, "lanes"), rank=-2.0)
        for text in ("% 16", "/ 16", "% 32", "/ 32", "% 8", "/ 8", "% 4", "/ 4"):
            yield spot.replace(i, i + 2, text, "lanes")


_AXIS = 3
"""Words of `threadIdx.x`."""


def parity(spot: Spot) -> Iterator[Rewrite]:
    """The other one of two buffers."""
    source = spot.source
    for i in spot.within:
        if (
            source.tokens[i].text == "["
            and source.partner.get(i) == i + 2
            and source.tokens[i + 1].kind == "name"
            and not CONSTANT.fullmatch(source.tokens[i + 1].text)
        ):
            yield spot.replace(i + 1, i + 2, f"{source.tokens[i + 1].text} ^ 1", "parity")
    for _, opened in source.calls(spot.within):
        for a, b in source.parts(opened):
            if b == a + 1 and _BUFFER.search(source.tokens[a].text):
                yield spot.replace(a, b, f"{source.tokens[a].text} ^ 1", "parity")
    for node in spot.tree.walk():
        for part in node.parts if node.kind == "product" else ():
            if part.last == part.first + 1 and _BUFFER.search(spot.text(part)):
                yield spot.replace(part.first, part.last, f"({spot.text(part)} ^ 1)", "parity")


_BUFFER = re.compile(r"buf|stage|slot|phase|parity|cur|next", re.I)
