"""A change of a source in words: the smallest piece that is otherwise, as a kernel's author reads it at once."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from layoutprobe.rewrites.spot import Rewrite
from layoutprobe.source.macros import macros, source_at
from layoutprobe.source.statements import Source, Token
from layoutprobe.text import one_line

_MOST = 80
"""Characters of a piece that is quoted."""


class Wording(Struct, frozen=True):
    """What a change says.

    Attributes:
        says: "with `a.S` in place of `a.R`", "with `&& k < K` added", "without `* scale`".
        offset: where in the source the piece stands that is replaced.
    """

    says: str
    offset: int


def worded(before: str, rewrite: Rewrite) -> Wording:
    """A change of a text in words."""
    old_source, new_source = (
        source_at(Source(text), macros(text), rewrite.start) for text in (before, rewrite.apply(before))
    )
    old = _tokens(old_source, rewrite.start, rewrite.end)
    new = _tokens(new_source, rewrite.start, rewrite.start + len(rewrite.text))
    if (apart := _rotated(old, new)) is not None:
        return _exchanged(old_source, old[:apart], old[apart:])
    first, last = _alike(old, new), 0
    while last < min(len(old), len(new)) - first and old[-1 - last].text == new[-1 - last].text:
        last += 1
    gone, come = old[first : len(old) - last], new[first : len(new) - last]
    offset = (gone or old[first:] or [Token("", "", rewrite.start, rewrite.start)])[0].start
    if not gone and not come:
        return Wording("with another layout of the text", offset)
    if not gone:
        return Wording(f"with {_quoted(new_source, come)} added", offset)
    dropped = gone if not come else _beside_brackets(gone, come)
    if dropped:
        return Wording(f"without {_quoted(old_source, dropped)}", dropped[0].start)
    pairs = {(a.text, b.text) for a, b in zip(gone, come, strict=False) if a.text != b.text}
    for was, now in (
        ([t.text for t in gone], [t.text for t in come]),
        (_with_members(gone), _with_members(come)),
    ):
        every = {(a, b) for a, b in zip(was, now, strict=False) if a != b}
        if len(was) == len(now) > 1 and len(every) == 1:
            ((one, other),) = every
            return Wording(f"with `{other}` in place of every `{one}`", offset)
    names = dict.fromkeys(
        a.text for a, b in zip(gone, come, strict=False) if a.text != b.text and a.kind == "name"
    )
    if len(gone) == len(come) and len(names) == len(pairs) == _PAIR and pairs == {(b, a) for a, b in pairs}:
        return Wording(f"with {' and '.join(f'`{name}`' for name in names)} exchanged", offset)
    gone, come = _widened(old_source, gone), _widened(new_source, come)
    gone, come = _balanced((old_source, gone), (new_source, come))
    return Wording(f"with {_quoted(new_source, come)} in place of {_quoted(old_source, gone)}", gone[0].start)


_PAIR = 2


def _with_members(piece: Sequence[Token]) -> list[str]:
    """Words, of which a member and what it is one of are a single one: `tile::K`."""
    found = list[str]()
    for i, token in enumerate(piece):
        if i and (token.text in _MEMBER or piece[i - 1].text in _MEMBER):
            found[-1] += token.text
        else:
            found.append(token.text)
    return found


def _rotated(old: Sequence[Token], new: Sequence[Token]) -> int | None:
    """Of how many words the statements are that stand behind the others now; None for any other change."""
    texts, now = ([token.text for token in tokens] for tokens in (old, new))
    ends = (n for n in range(1, len(old)) if texts[n - 1] in _ENDS)
    whole = bool(old) and len(old) == len(new) and texts[-1] in _ENDS and texts != now
    return next((n for n in ends if texts[n:] + texts[:n] == now), None) if whole else None


_ENDS = (";", "{", "}")


def _exchanged(source: Source, one: Sequence[Token], other: Sequence[Token]) -> Wording:
    """Two statements that change places: the shorter one is moved, and the place is where it goes."""
    if len(one) <= len(other):
        return Wording(f"with {_quoted(source, one)} behind {_quoted(source, other)}", other[-1].start)
    return Wording(f"with {_quoted(source, other)} before {_quoted(source, one)}", one[0].start)


def _tokens(source: Source, start: int, end: int) -> list[Token]:
    """The words of a text that a range touches."""
    return [token for token in source.tokens if token.end > start and token.start < end]


def _alike(one: Sequence[Token], other: Sequence[Token]) -> int:
    """Words at the beginning that are the same."""
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a.text != b.text),
        min(len(one), len(other)),
    )


def _beside_brackets(gone: Sequence[Token], come: Sequence[Token]) -> Sequence[Token]:
    """What stands beside brackets of which the inside alone is left: `* 2.0f` of `(v) * 2.0f`, where `v` is."""
    inside, words = ["(", *(token.text for token in come), ")"], [token.text for token in gone]
    if words[: len(inside)] == inside:
        return gone[len(inside) :]
    return gone[: -len(inside)] if words[-len(inside) :] == inside else []


def _widened(source: Source, piece: Sequence[Token]) -> list[Token]:
    """A member with what it is one of, and an operator with what stands on both sides of it."""
    tokens = source.tokens
    first = next(i for i, token in enumerate(tokens) if token.start == piece[0].start)
    last = first + len(piece)
    alone = len(piece) == 1 and piece[0].kind == "sign" and piece[0].text not in "(){}[]"
    if alone and first and last < len(tokens):
        first, last = first - 1, last + 1
        while last + 1 < len(tokens) and tokens[last].text in _MEMBER:
            last += 2
    while first > 1 and tokens[first - 1].text in _MEMBER:
        first -= 2
    return tokens[first:last]


_MEMBER = (".", "->", "::")


def _balanced(*pieces: tuple[Source, Sequence[Token]]) -> list[list[Token]]:
    """Pieces of texts that are alike around them, with as much of that as gives each bracket its other one."""
    tokens = [source.tokens for source, _ in pieces]
    starts = [
        next(i for i, t in enumerate(own) if t.start == piece[0].start)
        for own, (_, piece) in zip(tokens, pieces, strict=True)
    ]
    ends = [start + len(piece) for start, (_, piece) in zip(starts, pieces, strict=True)]
    left = right = 0
    while True:
        parts = [own[a - left : b + right] for own, a, b in zip(tokens, starts, ends, strict=True)]
        opened, closed = zip(*map(_unpaired, parts), strict=True)
        if not any((*opened, *closed)):
            return parts
        left, right = left + any(closed), right + any(opened)
        if (
            left + right > _LONGEST
            or left > min(starts)
            or any(b + right > len(own) for own, b in zip(tokens, ends, strict=True))
        ):
            return [list(piece) for _, piece in pieces]


_LONGEST = 40
"""Words that are added to give brackets their others: a block is quoted by what changes in it."""


def _unpaired(piece: Sequence[Token]) -> tuple[int, int]:
    """Brackets that are opened and not closed, and such as are closed and not opened."""
    opened = closed = 0
    for token in piece:
        if token.text in ("(", "[", "{"):
            opened += 1
        elif token.text in (")", "]", "}"):
            opened, closed = (opened - 1, closed) if opened else (0, closed + 1)
    return opened, closed


def _quoted(source: Source, piece: Sequence[Token]) -> str:
    says = " ".join(one_line(source.text[piece[0].start : piece[-1].end].replace("\n", " ")).split())
    return f"`{says if len(says) <= _MOST else says[:_MOST] + '...'}`"
