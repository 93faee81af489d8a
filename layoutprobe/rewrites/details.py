"""Details that are mistaken: a bit too many of a number, a table that is not asked, a sign, a clamp."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from msgspec.structs import replace

from layoutprobe.rewrites.families import differ_by, switches
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.scope import BUILTIN
from layoutprobe.source.statements import free_words
from layoutprobe.source.tree import BINDING, Node, bare

_MOST = 8


def masks(spot: Spot) -> Iterator[Rewrite]:
    """The lowest bits alone of what is shifted or divided, and the reverse; other bits in what is XORed."""
    for node in spot.tree.walk():
        quotient = re.fullmatch(r"(.*[^\s])\s*(?:>>|/)\s*(\d{1,2})u?", spot.text(node), re.DOTALL)
        if node.kind in ("shift", "product") and quotient and "integer" in spot.sorts(node):
            first = spot.start(node)
            text = spot.source.slice(first, node.last)
            asked = list(dict.fromkeys(f"& {mask}" for mask in _MASK.findall(spot.body)))[:_MOST_MASKS]
            bits = (*asked, "& 1", "& 3", "& 7") if node.kind == "shift" else ("% 2", "% 4", "% 8")
            for nth, part in enumerate(bits):
                yield replace(spot.replace(first, node.last, f"({text} {part})", "masks"), rank=0.2 * nth)
        mask = re.fullmatch(r"(\d{1,3})([uU]?)", spot.text(node.parts[-1])) if node.kind == "and" else None
        if mask and int(mask[1]) & int(mask[1]) + 1 == 0:  # other bits of a lane's number
            last = node.parts[-1]
            for nth, more in enumerate((2 * int(mask[1]) + 1, int(mask[1]) // 2, 4 * int(mask[1]) + 3)):
                new = spot.replace(last.first, last.last, f"{more}{mask[2]}", "masks")
                yield replace(new, rank=0.1 * nth)
        if node.kind == "and" and len(node.parts) == 2:
            yield from _of_powers(spot, node)
        if node.kind == "and" and len(node.parts) == 2 and node.parts[0].kind == "shift":
            yield from _whole_shift(spot, node)
        if node.kind == "xor":
            yield from (one for part in node.parts for one in _other_bits(spot, part))


def packed(spot: Spot) -> Iterator[Rewrite]:
    """`(b & 255) << 8` for `b << 8`, and `(unsigned char)b`, where another part of a packed word is so."""
    for node in spot.tree.walk():
        parts = [bare(part) for part in node.parts] if node.kind in ("or", "sum") else []
        fields = [bare(part.parts[0]) if part.kind == "shift" else part for part in parts]
        masks_ = {f" & {spot.text(one.parts[-1])}" for one in fields if one.kind == "and"}
        casts = {spot.text(one.parts[0]) for one in fields if one.parts and one.parts[0].kind == "cast"}
        for one in fields:
            text = spot.text(one)
            joined = f"({text})" if one.kind in BINDING else text
            if one.kind != "and" and any(part.kind == "shift" for part in parts):
                yield from (
                    spot.replace(one.first, one.last, f"({joined}{mask})", "packed")
                    for mask in sorted(masks_)
                )
                yield from (
                    spot.replace(one.first, one.last, f"({cast}{joined})", "packed")
                    for cast in sorted(casts)
                    if not text.startswith(cast)
                )


def _of_powers(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """What is right for powers of two alone, `x & (n - 1)` for `x % n`; and what is rounded down, `n & ~15`, that may
    have to be rounded up."""
    left, first = node.parts[0], spot.start(node)
    whole = spot.source.slice(first, left.last)
    less = re.fullmatch(r"\((.*[^\s])\s*-\s*1u?\)", spot.text(node.parts[1]), re.DOTALL)
    if less and not less[1].isdecimal():
        by = less[1] if re.fullmatch(r"[\w.:>-]+", less[1]) else f"({less[1]})"
        yield spot.replace(first, node.last, f"{whole} % {by}", "masks")
    cut = re.fullmatch(r"~\s*\(?(\d{1,3}|\w+ - 1)[uU]?\)?|-\s*(\d{1,4})", spot.text(node.parts[1]))
    if cut and left.kind != "group":
        more = cut[1] or str(int(cut[2]) - 1)
        yield spot.replace(first, left.last, f"({whole} + {more})", "masks")


_MASK = re.compile(r"&\s*(0[xX][0-9a-fA-F]{1,8}[uU]?|15|255)\b")
_MOST_MASKS = 2


def scaled_down(spot: Spot) -> Iterator[Rewrite]:
    """`t / 128` for `t / 64 % 2`; `SHIFT - 1` for `SHIFT` in a shift, and one more."""
    for node in spot.tree.walk():
        found = _QUOTIENT.fullmatch(spot.text(node)) if node.kind == "product" else None
        if found:
            first, parts = spot.start(node), (int(found[2]), int(found[3]))
            for number in dict.fromkeys((parts[0] * parts[1], parts[1], parts[0])):
                yield spot.replace(first, node.last, f"{found[1]} / {number}", "scaled_down")
        count = node.parts[-1] if node.kind == "shift" else None
        if (
            count is not None
            and count.kind == "leaf"
            and not count.parts
            and spot.sorts(count) == {"integer"}
        ):
            for sign in "-+":
                text = f"({spot.text(count)} {sign} 1)"
                yield spot.replace(count.first, count.last, text, "scaled_down")


_QUOTIENT = re.compile(r"(?:return\s+)?([\w.]+)\s*/\s*(\d{1,4})\s*%\s*(\d{1,4})")


def bytes_of_lanes(spot: Spot) -> Iterator[Rewrite]:
    """`(lane ^ 16) << 2` for `lane ^ 16` where a permutation of lanes takes it, which counts in bytes."""
    asked = _PERMUTED.findall(spot.source.text)
    for tree in spot.pieces:
        assigned = spot.assignment(tree)
        if assigned is None or not asked:
            continue
        name, value = spot.source.tokens[assigned[1].last - 1].text, assigned[2]
        if name in asked and not _IN_BYTES.search(spot.text(value)):
            yield spot.replace(value.first, value.last, f"(({spot.text(value)}) << 2)", "bytes_of_lanes")
    for node in spot.tree.walk():
        if node.kind == "call" and node.parts and "permute" in spot.source.tokens[node.first - 1].text:
            where = node.parts[0]
            if not _IN_BYTES.search(spot.text(where)):
                text = f"(({spot.text(where)}) << 2)"
                yield spot.replace(where.first, where.last, text, "bytes_of_lanes")


_PERMUTED = re.compile(r"ds_b?permute\w*\s*\(\s*([A-Za-z_]\w*)\s*[,)]")
_IN_BYTES = re.compile(r"<<\s*2|\*\s*4\b|\b4\s*\*")


def _whole_shift(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`lane >> 5` for `lane >> 4 & 1`."""
    shift = node.parts[0]
    found = re.fullmatch(r"\d", spot.text(shift.parts[-1]))
    if found and len(shift.parts) == 2:
        head = spot.text(shift.parts[0])
        for by in (int(found[0]) + 1, int(found[0]) - 1, int(found[0])):
            if by >= 0:
                yield replace(spot.replace(node.first, node.last, f"{head} >> {by}", "masks"), rank=0.3)


_BITS = ("& 7", "& 3", "& 15", ">> 1", ">> 2", "& 31", ">> 3")


def _other_bits(spot: Spot, part: Node) -> Iterator[Rewrite]:
    """Another part of a row in what a column is XORed with."""
    inner = part.parts[0] if part.kind == "group" and len(part.parts) == 1 else part
    pair = inner.kind in ("and", "shift", "product") and len(inner.parts) == 2
    plain = inner.kind == "leaf" and not inner.parts and inner.last == inner.first + 1
    if (pair and spot.text(inner.parts[1]).isdigit()) or (plain and "integer" in spot.sorts(inner)):
        head = spot.text(inner.parts[0]) if pair else spot.text(inner)
        for nth, bits in enumerate(_BITS):
            new = spot.replace(part.first, part.last, f"({head} {bits})", "masks")
            yield replace(new, rank=0.4 + 0.15 * nth)


def wider(spot: Spot) -> Iterator[Rewrite]:
    """`table[code & 15]` for `table[code & 7]` where the table has 16 entries."""
    for node in spot.tree.walk():
        whole = node.parts[0] if node.kind == "index" and len(node.parts) == 1 else None
        if whole is None or whole.kind not in ("and", "product") or not node.first:
            continue
        extent = re.search(
            rf"\b{re.escape(spot.source.tokens[node.first - 1].text)}\s*\[\s*(\d{{1,5}})\s*\]",
            spot.source.text,
        )
        last, sign = whole.parts[-1], spot.operator(whole, len(whole.parts) - 1)
        if extent and sign in ("&", "%") and spot.text(last).isdigit():
            number = int(extent[1]) - (sign == "&")
            yield spot.replace(last.first, last.last, str(number), "wider")


def counts(spot: Spot) -> Iterator[Rewrite]:
    """`word >> (2 * i)` for `word >> i`: what is packed has more bits than one; those of the mask behind it first."""
    tokens = spot.source.tokens
    for node in spot.tree.walk():
        count = node.parts[-1] if node.kind == "shift" and len(node.parts) == 2 else None
        if count is None or count.parts or count.kind != "leaf" or spot.sorts(count) != {"integer"}:
            continue
        behind = next(
            (i for i in range(node.last, min(node.last + 3, len(tokens) - 1)) if tokens[i].text == "&"), 0
        )
        mask = re.fullmatch(r"(0x[0-9a-fA-F]{1,8}|\d{1,8})[uU]?", tokens[behind + 1].text) if behind else None
        bits = int(mask[1], 16 if "x" in mask[1] else 10).bit_length() if mask else 0
        for factor in dict.fromkeys((bits, 8, 4, 2, 16)):
            if factor > 1:
                yield spot.replace(count.first, count.last, f"({factor} * {spot.text(count)})", "counts")


def signs(spot: Spot) -> Iterator[Rewrite]:
    """The argument of an exponential, and of what is made of one, with the other sign."""
    tokens = spot.source.tokens
    for node in spot.tree.walk():
        named = node.kind == "call" and len(node.parts) == 1
        if named and re.search(r"exp|tanh|erf|sigmoid|sin", tokens[node.first - 1].text, re.I):
            text = spot.text(node.parts[0])
            plain = node.parts[0].kind == "leaf"
            other = (
                text[1:].lstrip() if text.startswith("-") and plain else f"-{text}" if plain else f"-({text})"
            )
            yield spot.replace(node.parts[0].first, node.parts[0].last, other, "signs")
        if node.kind == "call" and _PRODUCT.search(tokens[node.first - 1].text):
            for part in node.parts[:2]:
                if part.kind == "leaf" and tokens[part.first].kind == "name":
                    yield replace(
                        spot.replace(part.first, part.last, f"-{spot.text(part)}", "signs"), rank=0.3
                    )


_PRODUCT = re.compile(r"mma|mfma|mac|mad|fma|mul|dot|axpy", re.IGNORECASE)
"""Names of what multiplies: what conjugates has the other sign in one of four."""


def clamps(spot: Spot) -> Iterator[Rewrite]:
    """`min(BAND, rows - first)` for `BAND`: the last of what is taken in steps is smaller, where a start says so."""
    yield from _ends_of_shares(spot)
    yield from _rest_of_loops(spot)
    yield from _other_ends(spot)
    yield from _last_rows(spot)
    tree = spot.tree
    value = tree.parts[-1] if tree.kind == "assignment" and spot.operator(tree, 1) == "=" else None
    if value is None or value.kind != "leaf" or value.parts:
        return
    step = spot.text(value)
    is_number = re.fullmatch(r"\d{1,4}", step) is not None and int(step) >= _LEAST_STEP
    if not is_number and spot.sorts(value) != {"integer"}:
        return
    starts = [name for name in _steps_by(spot, step) if name in spot.names]
    known = [
        name for name, one in spot.names.items() if one.sort == "integer" and name not in (*starts, step)
    ]
    known = [name for name in known if name.partition(".")[0] not in {*BUILTIN, *spot.scope.outside}]
    for late, start in enumerate(list(dict.fromkeys(reversed(starts)))[:2]):
        ordered = sorted(known, key=lambda name: _unlike_extent(spot, name, start, step))
        for extent in ordered[:_MOST]:
            left = f"{extent} - {start}"
            text = f"{left} < {step} ? {left} : {step}" if is_number else f"min({step}, {left})"
            yield replace(spot.replace(value.first, value.last, text, "clamps"), rank=0.1 * late)


def _other_ends(spot: Spot) -> Iterator[Rewrite]:
    """`fmaxf(fminf(up, limit), -limit)` for `fminf(up, limit)`, and the reverse: what is cut at one end alone."""
    for node in spot.tree.walk():
        other = _OPPOSITE.get(spot.source.word(node.first - 1)) if node.kind == "call" else None
        if other is None or len(node.parts) != len("ab"):
            continue
        first = node.first - 1 - 2 * (spot.source.word(node.first - 2) == "::")
        if other in (spot.source.word(first - 2), spot.source.word(first - 1)):
            continue
        call = spot.source.slice(first, node.last)
        for nth, part in enumerate(reversed(node.parts)):
            text = spot.text(part)
            end = text[1:] if text.startswith("-") else f"-{text}"
            plain = part.kind == "leaf" and not part.parts and text.strip("0.f") != ""
            if plain or text.startswith("-"):
                name = spot.source.slice(first, node.first - 1) + other
                new = spot.replace(first, node.last, f"{name}({call}, {end})", "clamps")
                yield replace(new, rank=0.1 * nth + _OF_INDICES * other.startswith(("min", "max")))


_OF_INDICES = 1.0
"""How much unlikelier integers need the other end, too: indices begin at 0."""
_OPPOSITE = {"fminf": "fmaxf", "min": "max", "fmin": "fmax", "__hmin": "__hmax"}
_OPPOSITE |= {one: other for other, one in _OPPOSITE.items()}


def _ends_of_shares(spot: Spot) -> Iterator[Rewrite]:
    """`begin + run < K ? begin + run : K` for `begin + run`: the last share is smaller."""
    given = {
        name: len(name) > 1
        for name, one in spot.names.items()
        if one.sort == "integer" and (len(name) == 1 or name in spot.scalars)
    }
    extents = sorted(given, key=lambda name: given[name])
    wraps = {
        name: spot.text(value.parts[-1])
        for name, value in spot.given
        if value.kind == "product" and spot.operator(value, len(value.parts) - 1) == "%"
    }  # `first = it % count` is less than count
    for tree in spot.pieces:
        value = tree.parts[-1] if tree.kind == "assignment" and spot.operator(tree, 1) == "=" else None
        target = spot.source.tokens[tree.parts[0].last - 1].text if value is not None else ""
        ends = _END.search(target) or re.search(rf"\bfor\b[^;]*;[^;]*<\s*{re.escape(target)}\s*;", spot.body)
        if value is not None and ends and value.kind == "sum":
            text = spot.text(value)
            wrapped = [wraps[word] for word in sorted(free_words(text) & wraps.keys())]
            others = [name for name in extents if re.search(rf"\b{name}\b", text) is None]
            for extent in [*wrapped, *others][:_MOST]:
                new = f"{text} < {extent} ? {text} : {extent}"
                yield spot.replace(value.first, value.last, new, "clamps")


def _rest_of_loops(spot: Spot) -> Iterator[Rewrite]:
    """`min(WAVE, end - base)` for `min(WAVE, count)` in `for (base = begin; base < end; base += WAVE)`."""
    for counter, end, step in _LOOP.findall(spot.body):
        for node in spot.tree.walk():
            if (
                node.kind == "call"
                and len(node.parts) == len("ab")
                and spot.source.word(node.first - 1) == "min"
            ):
                texts = [spot.text(part) for part in node.parts]
                rest = [part for part, text in zip(node.parts, texts, strict=True) if text != step]
                if len(rest) == 1 and spot.text(rest[0]) != f"{end} - {counter}":
                    yield spot.replace(rest[0].first, rest[0].last, f"{end} - {counter}", "clamps")


_LOOP = re.compile(r"\bfor\s*\([^;]*;\s*(\w+)\s*<\s*([\w.]+)\s*;\s*\w+\s*\+=\s*([\w.:]+)\s*\)")


def _last_rows(spot: Spot) -> Iterator[Rewrite]:
    """`min(n0 + lane, N - 1)` for `n0 + lane` where rows are read: those behind the last one are read as that."""
    calls = re.search(r"\b(?:std::)?min\s*\(", spot.source.text)
    for part in _rows(spot):
        inner = part.parts[0] if part.kind == "group" else part
        text = spot.text(inner)
        for nth, extent in enumerate(_extents_of(spot, text)[:_MOST_EXTENTS]):
            less = f"{extent} - 1"
            new = f"{calls[0]}{text}, {less})" if calls else f"({text} < {extent} ? {text} : {less})"
            yield replace(spot.replace(part.first, part.last, new, "clamps"), rank=0.1 * nth)


def _rows(spot: Spot) -> Iterator[Node]:
    """Sums that are multiplied by an integer's name, in brackets, or that a variable is made of; names alike."""
    for node in spot.tree.walk():
        if node.kind == "product" and spot.operator(node, 1) == "*":
            head = node.parts[0]
            first = head.parts[-1] if head.kind == "leaf" and head.parts else head
            yield from (part for part in (first, *node.parts[1:]) if _is_row(spot, part))
        assigned = spot.assignment(node)
        if assigned and assigned[0] == "=" and assigned[2].kind == "sum" and _is_row(spot, assigned[2]):
            yield assigned[2]


def _is_row(spot: Spot, node: Node) -> bool:
    """Whether an expression may be a row's number: a sum, or a name that is compared with how many there are."""
    inner = node.parts[0] if node.kind == "group" and len(node.parts) == 1 else node
    plain = inner.kind == "leaf" and not inner.parts and bool(_bounds_of(spot, spot.text(inner)))
    return (inner.kind == "sum" or plain) and spot.sorts(inner) == {"integer"}


def _bounds_of(spot: Spot, text: str) -> list[str]:
    """What the function compares an expression with."""
    function = spot.body
    return re.findall(
        rf"(?<![\w.+*-] ){re.escape(text)} (?:<|>=) (?:\(\w+\)\s*)?([A-Za-z_][\w.]*)\b(?! *[*+(])", function
    )


def _extents_of(spot: Spot, text: str) -> list[str]:
    """What it is compared with, or may be: bounds of others, those first whose letter it begins with."""
    function = spot.body
    own = _bounds_of(spot, text)
    found = dict.fromkeys(own)
    if not text.isidentifier():
        found |= dict.fromkeys(
            re.findall(r"(?:<|>=) (?:\(\w+\)\s*)?([A-Za-z_][\w.]*)\s*(?=[;)&|?,])", function)
        )
        found |= dict.fromkeys(re.findall(r"\b([A-Za-z_][\w.]*) - 1\b", function))
    known = [name for name in found if name in spot.names and spot.names[name].sort == "integer"]
    known = [name for name in known if not name.isupper() or len(name) == 1 or name in spot.scalars]
    known = [name for name in known if re.search(rf"(?<![\w.]){re.escape(name)}\b", text) is None]

    def unlike(name: str) -> tuple[bool, bool, bool]:
        letter = text.lstrip("( ")[:1].lower()
        return name not in own, name.rpartition(".")[2][:1].lower() != letter, name not in spot.scalars

    return sorted(known, key=unlike)


_MOST_EXTENTS = 2
_LEAST_STEP = 4
_END = re.compile(r"end|last|stop|until|to$", re.IGNORECASE)


def _unlike_extent(spot: Spot, name: str, start: str, step: str) -> tuple[bool, bool, bool]:
    """How unlikely a start runs up to an extent by a step: `k0` to `K`, `first_m` to `tiles_m`, by GROUP_M, too."""
    tails = {text.rpartition("_")[2].lower() for text in (start, step) if "_" in text}
    akin = any(name.lower().endswith(f"_{tail}") for tail in tails)
    akin = akin or (re.fullmatch(r"\w0", start) is not None and name.rpartition(".")[2].lower() == start[0])
    return not akin, name not in spot.scalars, "::" in name


def _steps_by(spot: Spot, step: str) -> Iterator[str]:
    """Names that are multiples of a constant, or go on by it."""
    for tree in spot.statements:
        if tree.first < spot.within.start:
            for node in tree.walk():
                if assigned := spot.assignment(node):
                    text = spot.text(assigned[2])
                    if re.search(rf"\*\s*{re.escape(step)}\b|\b{re.escape(step)}\s*\*", text) or text == step:
                        yield spot.source.tokens[assigned[1].last - 1].text


def shared(spot: Spot) -> Iterator[Rewrite]:
    """An expression as another one of the statement that begins or ends alike: `i + ahead` for `i + 1`."""
    pairs = [
        node for node in spot.tree.walk() if node.kind in ("sum", "product", "shift") and len(node.parts) == 2
    ]
    for one in pairs:
        for other in pairs:
            same = one.kind == other.kind and spot.operator(one, 1) == spot.operator(other, 1)
            alike = any(spot.text(a) == spot.text(b) for a, b in zip(one.parts, other.parts, strict=True))
            if same and alike and spot.start(one) == one.first:
                yield spot.replace(one.first, one.last, spot.text(other), "shared")


def longer(spot: Spot) -> Iterator[Rewrite]:
    """A sum as a longer one of the statement that begins alike: `r + c + 8 < M` for `r + c < M`."""
    nodes = list(spot.tree.walk())
    whole = [node for node in nodes if node.kind == "sum" and spot.start(node) == node.first]
    for one in nodes:
        if one.kind != "sum" or one.last - one.first > _LONGEST_SUM:
            continue
        terms = [spot.text(part) for part in one.parts]
        for other in whole:
            begins = [spot.text(part) for part in other.parts[: len(terms)]]
            apart = other.last <= one.first or one.last <= other.first
            if apart and len(other.parts) > len(terms) and begins == terms:
                yield spot.replace(one.first, one.last, spot.text(other), "longer")


_LONGEST_SUM = 16


def next_to(spot: Spot) -> Iterator[Rewrite]:
    """A word exchanged with that of the next statement, where the two differ in few."""
    source, tokens, own = spot.source, spot.source.tokens, spot.within
    if own.stop + 1 >= len(tokens) or tokens[own.stop].text != ";":
        return
    other = source.around(own.stop + 1)
    if len(other) != len(own) or other.start != own.stop + 1 or len(own) > _LONGEST:
        return
    pairs = [(i, j) for i, j in zip(own, other, strict=True) if tokens[i].text != tokens[j].text]
    if not 2 <= len(pairs) <= _MOST_WORDS or any(tokens[i].kind != tokens[j].kind for i, j in pairs):
        return
    for i, j in pairs:
        middle = source.text[tokens[i].end : tokens[j].start]
        yield spot.replace(i, j + 1, f"{tokens[j].text}{middle}{tokens[i].text}", "next")


_LONGEST, _MOST_WORDS = 60, 4


def both(spot: Spot) -> Iterator[Rewrite]:
    """The other part as well, where names come in pairs: `A_ELEMS + B_ELEMS` for `A_ELEMS`."""
    own = {one.text for one in spot.scope.operands if one.first in spot.within}
    for one in spot.scope.operands:
        if (
            one.first in spot.within
            and one.sort == "integer"
            and len(one.text) > 2
            and one.text not in spot.scalars
        ):
            for names in switches(spot, [one]):
                if names[one.text] not in own:
                    yield spot.replace(one.first, one.last, f"({one.text} + {names[one.text]})", "both")
    yield from _of_each(spot)


def _of_each(spot: Spot) -> Iterator[Rewrite]:
    """`(q_heads + kv_heads)` for `2 * q_heads`."""
    for node in spot.tree.walk():
        for one, other in pairwise(node.parts) if node.kind == "product" else ():
            texts = [spot.text(one), spot.text(other)]
            name = next((text for text in texts if text in spot.names), "")
            if name and "2" in texts and spot.operator(node, node.parts.index(other)) == "*":
                alike = [
                    its
                    for its, known in spot.names.items()
                    if known.sort == "integer" and differ_by(name, its)
                ]
                for its in alike[:_MOST_OF_EACH]:
                    yield spot.replace(spot.start(one), other.last, f"({name} + {its})", "both")


_MOST_OF_EACH = 4
