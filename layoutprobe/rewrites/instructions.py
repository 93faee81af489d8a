"""What stands in the text of an instruction: numbers, bits of modifiers, what is read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutprobe.rewrites.spot import Rewrite, Spot


def asm(spot: Spot) -> Iterator[Rewrite]:
    """Another number in an instruction: of a wait, an offset; a wait before a barrier; what is read as well.

    And a bit of a modifier.
    """
    for i in spot.within:
        token = spot.source.tokens[i]
        if token.kind != "text":
            continue
        if constraint := re.match(r'"([=+])(?=&?\w+"$)', token.text):
            sign = {"=": "+", "+": "="}[constraint[1]]
            yield Rewrite(token.start + 1, token.start + 2, sign, "asm")
        if "s_barrier" in token.text and "s_waitcnt" not in token.text:
            text = token.text.replace("s_barrier", r"s_waitcnt lgkmcnt(0)\n\ts_barrier")
            yield spot.replace(i, i + 1, text, "asm")
        for found in re.finditer(r"(?<=[\[,])[01](?=[,\]])", token.text):
            at = token.start + found.start()
            yield Rewrite(at, at + 1, str(1 - int(found[0])), "asm")
        for found in re.finditer(r"(?<=[(:])\d{1,5}\b", token.text):
            value, at = int(found[0]), token.start + found.start()
            for other in dict.fromkeys(
                (0, value - 1, value + 1, value * 2, value // 2, value + 16, value - 16)
            ):
                if other >= 0 and other != value:
                    yield Rewrite(at, at + len(found[0]), str(other), "asm")
