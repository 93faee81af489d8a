"""Many changes of a source in one text: a number that the code asks for says which of them is executed.

So they are compiled at once. An expression that some of them change stands there once for each, as does a statement
that is assigned to. What can be chosen in neither way (a declaration, a constant of the compiler's) is left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from layoutprobe.rewrites.chosen import ASKS, Region, with_choice
from layoutprobe.rewrites.known import WIDE
from layoutprobe.rewrites.spot import Rewrite
from layoutprobe.source.declarations import declared_in, is_headed
from layoutprobe.source.expressions import body_behind
from layoutprobe.source.macros import Macro, macros, source_at, storing
from layoutprobe.source.statements import Source
from layoutprobe.source.tree import ASSIGNMENTS, is_cast, template_end

_PARTS = ASSIGNMENTS | {",", ";", "?", ":", "return"}
_WHOLE = _PARTS - {"?", ":"}
_NOT_ALONE = frozenset(
    ("else", "case", "default", "do", "using", "typedef", "template", "goto", "break", "continue")
)


class Combined(Struct, frozen=True):
    """The text.

    Attributes:
        text: all changes in one.
        lines: line of it -> numbers of the changes that a compiler's error there is about.
        chosen: numbers of the changes that are in it.
        together: those that stand in one place.
    """

    text: str
    lines: Mapping[int, frozenset[int]]
    chosen: frozenset[int]
    together: Sequence[frozenset[int]] = ()


def combined(text: str, changes: Mapping[int, Rewrite]) -> Combined:
    """A text with as many of some changes (number -> change) as can be in it. No loop is unrolled: a choice between
    changes would stand there as often as the loop goes round, and take a compiler minutes."""
    whole, bodies = Source(text), macros(text)
    fixed, places = _needed_by_compiler(whole, bodies), storing(bodies)
    regions: dict[Region, dict[int, list[Rewrite]]] = {}
    for number, rewrite in changes.items():
        widens = _WIDENS.match(rewrite.text) and not _WIDENS.match(text[rewrite.start : rewrite.end])
        if widens:  # what is chosen has the type of what it stands for
            continue
        source = source_at(whole, bodies, rewrite.start)
        in_macro = source is not whole
        if in_macro and any(one.body is source and one.name in fixed for one in bodies):
            continue
        pieces = [
            (piece, region_of(source, piece, places, in_macro=in_macro))
            for piece in pieces_of(source, rewrite)
        ]
        for piece, region in pieces if all(region for _, region in pieces) else ():
            assert region is not None
            regions.setdefault(region, {}).setdefault(number, []).append(piece)
    result, at = ASKS, 0
    lines: dict[int, frozenset[int]] = {}
    together = list[frozenset[int]]()
    for region, members in _outermost(regions):
        result += text[at : region.start]
        first = result.count("\n") + 1
        before, source = len(result), source_at(whole, bodies, region.start)
        result, own = with_choice(result, source.text, region, members)
        if source is not whole:  # its lines end with a mark
            result = result[:before] + result[before:].replace("\n", " \\\n")
        for line in range(first, result.count("\n") + 2):
            lines[line] = own.get(line, frozenset(members) | lines.get(line, frozenset()))
        at = region.end
        together.append(frozenset(members))
    whole_text = _UNROLLS.sub(lambda found: f"{found[1]}nounroll{found[2] or ''}", result + text[at:])
    return Combined(whole_text, lines, frozenset[int]().union(*together), together)


_WIDENS = re.compile(rf"\((?:{WIDE})\)|\d+[uU]?(?:ll|LL)")
_UNROLLS = re.compile(r"""(#[ \t]*pragma[ \t]+|_Pragma\([ \t]*")unroll\b[^\n"]*("?)""")


def _needed_by_compiler(source: Source, bodies: Sequence[Macro]) -> frozenset[str]:
    """Macros that stand where a compiler must know a number, and those that such are made of.

    With a number that is asked for in one of them nothing compiles: the error stands where it is used.
    """
    names = {one.name for one in bodies}
    found = {
        token.text for i, token in enumerate(source.tokens) if token.text in names and _is_constant(source, i)
    }
    while more := {
        token.text
        for one in bodies
        if one.name in found
        for token in one.body.tokens
        if token.text in names - found
    }:
        found |= more
    return frozenset(found)


def _is_constant(source: Source, i: int) -> bool:
    """Whether a word stands in an extent, a constant, an argument of a template or of an attribute."""
    opened = source.parent[i]
    in_attribute = opened > 0 and source.tokens[opened - 1].text in _ATTRIBUTES
    return in_attribute or _is_of_compiler(source, source.around(i), i)


_ATTRIBUTES = ("__launch_bounds__", "__attribute__", "__align__", "alignas", "ext_vector_type", "aligned")
_ARGUMENTS = 12
"""Words of a template's arguments."""


def pieces_of(source: Source, rewrite: Rewrite) -> list[Rewrite]:
    """The words that a change replaces, each by itself: names that are exchanged stand in several expressions."""
    old = [t for t in source.tokens if t.end > rewrite.start and t.start < rewrite.end]
    if not old or old[0].start < rewrite.start or old[-1].end > rewrite.end:
        return [rewrite]
    new = Source(rewrite.text).tokens
    matched = SequenceMatcher(None, [t.text for t in old], [t.text for t in new], autojunk=False)
    found = []
    for what, a, b, c, d in matched.get_opcodes():
        if what != "equal":
            come = rewrite.text[new[c].start : new[d - 1].end] if d > c else ""
            start = old[a].start if b > a else old[a - 1].end if a else rewrite.start
            found.append(Rewrite(start, old[b - 1].end if b > a else start, f" {come} ", rewrite.kind))
    balanced = all(_is_balanced(one.text) and _is_balanced(source.text[one.start : one.end]) for one in found)
    declares = len(found) > 1 and any(_DECLARES.search(one.text) for one in found)  # for the other pieces
    return found if found and balanced and not declares else [rewrite]


_DECLARES = re.compile(r"\bauto \w+ =")


def _is_balanced(text: str) -> bool:
    return all(text.count(opens) == text.count(closes) for opens, closes in ("()", "[]", "{}"))


def _outermost(
    regions: Mapping[Region, Mapping[int, Sequence[Rewrite]]],
) -> list[tuple[Region, dict[int, list[Rewrite]]]]:
    """Regions that lie in no other, in order, with the changes of those in them."""
    found: list[tuple[Region, dict[int, list[Rewrite]]]] = []
    added = {region for region in regions if region.start == region.end}
    for region, members in sorted(
        regions.items(), key=lambda pair: (pair[0].start, pair[0] not in added, -pair[0].end)
    ):
        if found and region.start < found[-1][0].end:
            if region.end <= found[-1][0].end:
                for number, rewrites in members.items():
                    found[-1][1].setdefault(number, []).extend(rewrites)
        else:
            found.append((region, {number: list(rewrites) for number, rewrites in members.items()}))
    return found


def region_of(
    source: Source, rewrite: Rewrite, places: Collection[str] = (), *, in_macro: bool = False
) -> Region | None:
    """The smallest expression, or else the statement, that a change lies in; None where it cannot be chosen so.

    Args:
        source: a file, or the body of a macro.
        rewrite: the change.
        places: macros that must be given what has a place: a choice between two is none, and is assigned to in vain.
        in_macro: the latter: what is around it is not known.
    """
    tokens = source.tokens
    if rewrite.start == rewrite.end:  # what is added belongs to the word before it, where there is one
        behind = next((i for i, t in enumerate(tokens) if t.start >= rewrite.start), len(tokens))
        first_word = not behind or tokens[behind - 1].text in {*_PARTS, "(", "[", "{"}
        first_word |= behind < len(tokens) and source.around(behind).start == behind
        touched = [i for i in [behind if first_word else behind - 1] if i < len(tokens)]
    else:
        touched = [i for i, t in enumerate(tokens) if t.end > rewrite.start and t.start < rewrite.end]
    if not touched:
        return None
    first, last = touched[0], touched[-1]
    statement = source.around(first)
    if ";" in rewrite.text and rewrite.start == rewrite.end:  # a statement more, before or behind one
        if _is_between(source, rewrite) and (in_macro or _is_in_function(source, statement)):
            return Region(rewrite.start, rewrite.start, is_statement=True)
        after = first and tokens[touched[0] - 1].text == ";" and tokens[touched[0]].start > rewrite.start
        return _whole(source, source.around(first - 1) if after else statement, rewrite)
    if first == statement.start and last == statement.stop and not rewrite.text.strip():  # it goes
        return _whole(source, statement, rewrite)
    if not (statement.start <= first and last < statement.stop):
        return None
    if (call := _call_of_template(source, first, last)) is not None:
        first, last = call
    in_function = in_macro or _is_in_function(source, statement) or _is_initial(source, statement, first)
    if _is_of_compiler(source, statement, first) or not in_function:
        return None
    if rewrite.text.lstrip().startswith(","):
        return _step(source, first, rewrite)
    while True:
        parent = source.parent[first]
        while parent >= statement.start and source.partner.get(parent, -1) < last:
            parent = source.parent[parent]
        inside = parent >= statement.start
        if inside and tokens[parent - 1].text.startswith(
            "__builtin_"
        ):  # its arguments may have to be constants
            first, last = parent, source.partner[parent]
            continue
        if inside and source.word(parent - 1) in places:
            return _whole(source, statement, rewrite)
        if inside and is_cast(source, parent):  # a type is chosen with what becomes one
            first, last = parent, source.partner[parent] + 1
            continue
        begin, end = (parent + 1, source.partner[parent]) if inside else (statement.start, statement.stop)
        for a, b in (*_parts(source, begin, end, _PARTS), *_parts(source, begin, end, _WHOLE)):
            if a <= first and last < b and not _is_target(source, b, end) and not _begins(source, a, b):
                if _has_lambda(source, a, b):
                    return None
                start, stop = min(tokens[a].start, rewrite.start), max(tokens[b - 1].end, rewrite.end)
                return Region(start, stop, is_statement=False)
        if not inside:
            return _whole(source, statement, rewrite)
        first, last = parent, source.partner[parent]


def _step(source: Source, at: int, rewrite: Rewrite) -> Region | None:
    """The last part of a loop's head, for what is added to it; None for anything else that has one part more."""
    tokens, opened = source.tokens, source.parent[at]
    if opened < 1 or tokens[opened - 1].text != "for" or source.partner.get(opened) != at + 1:
        return None
    first = at
    while first > opened and tokens[first - 1].text != ";":
        first -= 1
    return Region(tokens[first].start, rewrite.end, is_statement=False) if first > opened else None


def _has_lambda(source: Source, first: int, last: int) -> bool:
    """Whether statements stand in an expression: each lambda has a type of its own, so that none can be chosen."""
    return any(source.is_block(i) for i in range(first, last))


def _is_between(source: Source, rewrite: Rewrite) -> bool:
    """Whether a change adds whole statements where one has ended, or a block begins: these are chosen alone."""
    at = next((i for i, t in enumerate(source.tokens) if t.start >= rewrite.start), 0)
    words, follows = source.tokens[max(at - 1, 0) : at], source.tokens[at : at + 1]
    stands = bool(words) and words[0].text in (";", "{", "}") and words[0].end <= rewrite.start
    stands = stands and "#pragma" not in source.text[words[0].end : rewrite.start]
    block = source.parent[at] if at < len(source.parent) else -1
    inside = block >= 0 and source.tokens[block].text == "{"
    whole = rewrite.text.strip().endswith((";", "}")) and rewrite.text.count("{") == rewrite.text.count("}")
    return stands and inside and whole and bool(follows) and follows[0].text not in ("else", "while")


def _is_of_compiler(source: Source, statement: range, at: int) -> bool:
    """Whether a word must be known while code is compiled: of constants and types, extents, templates' arguments."""
    words = {source.tokens[i].text for i in statement[:_HEAD]}
    return not words.isdisjoint(_CONSTANT) or _is_extent(source, at) or _is_of_template(source, at)


def _is_of_template(source: Source, i: int) -> bool:
    """Whether a word stands among the arguments of a template, or is one of their brackets."""
    return _template_around(source, i) is not None


def _template_around(source: Source, i: int) -> tuple[int, int] | None:
    """Brackets of a template's arguments that a word stands in, or is one of."""
    begins = (j for j in range(i, max(i - _ARGUMENTS, 0), -1) if source.tokens[j].text == "<")
    return next(((j, end) for j in begins if (end := template_end(source, j) or 0) >= i), None)


def _call_of_template(source: Source, first: int, last: int) -> tuple[int, int] | None:
    """The call whose template's arguments words stand in, `load<64>(tile, at)`: each has all of them, and can be
    chosen; None for those of types."""
    tokens, around = source.tokens, _template_around(source, first)
    if around is None or last > around[1] or tokens[around[1] + 1].text != "(":
        return None
    begin = around[0] - 1
    while begin > 1 and tokens[begin - 1].text in ("::", ".", "->") and tokens[begin - 2].kind == "name":
        begin -= 2
    close = source.partner.get(around[1] + 1)
    return None if close is None or _has_lds(source, tokens[around[0] - 1].text) else (begin, close)


def _has_lds(source: Source, name: str) -> bool:
    """Whether a function declares LDS: each instance of a template has its own, and many have more than there is."""
    heads = (i for one, i in source.calls(range(len(source.tokens))) if one == name)
    bodies = (brace for i in heads if (brace := body_behind(source, i)) is not None)
    return any("__shared__" in source.slice(brace, source.partner[brace]) for brace in bodies)


def _is_in_function(source: Source, statement: range) -> bool:
    block = source.block_around(statement.start)
    while block is not None and not is_headed(source, block[0]):
        block = source.block_around(block[0])
    return block is not None


def _is_initial(source: Source, statement: range, at: int) -> bool:
    """Whether a word stands in what members begin with: `Loader(const T* p, int n) : from(p + n), left(n) {}`."""
    i = statement.start
    while i < at:
        if source.tokens[i].text == ":" and source.tokens[i - 1].text == ")":
            return source.parent[at] > i
        i = source.partner.get(i, i) + 1 if source.tokens[i].text in ("(", "[", "{") else i + 1
    return False


def _is_extent(source: Source, at: int) -> bool:
    """Whether a word stands in the brackets of an array that is declared, of two dimensions or one."""
    opened = source.parent[at]
    while opened > 0 and source.tokens[opened - 1].text == "]":
        opened = source.partner.get(opened - 1, 0)
    return opened > 0 and source.tokens[opened].text == "[" and (opened - 1) in declared_in(source)


_HEAD = 3
_CONSTANT = frozenset(("constexpr", "using", "typedef", "template", "static_assert", "namespace", "enum"))


def _parts(source: Source, begin: int, end: int, cuts: Collection[str]) -> Iterator[tuple[int, int]]:
    """Parts between some of the operators that bind least."""
    first = i = begin
    while i < end:
        text = source.tokens[i].text
        if text in cuts:
            if i > first:
                yield first, i
            first = i + 1
        close = source.partner.get(i, i) if text in ("(", "[", "{") else i
        i = 1 + ((template_end(source, i) or i) if text == "<" else close)
    if end > first:
        yield first, end


def _is_target(source: Source, at: int, end: int) -> bool:
    """Whether what ends there is assigned to."""
    return at < end and source.tokens[at].text in ASSIGNMENTS


def _begins(source: Source, first: int, last: int) -> bool:
    """Whether a part is more than an expression: a statement's head, a declaration, a parameter."""
    words = source.tokens[first : min(first + 2, last)]
    parameter = last - 1 in declared_in(source) and source.tokens[last].text in (",", ")")
    parameter |= first in declared_in(source) and last > first + 1  # `b(Bt, n)` of `Buffer a(A, m), b(Bt, n)`
    parameter |= not declared_in(source).isdisjoint(range(first + 1, last))  # `Sum<T> all`
    return (
        parameter
        or words[0].text
        in (
            "if",
            "for",
            "while",
            "switch",
            "else",
            "{",
            "asm",
            "static",
            "const",
            "__shared__",
        )
        or (all(word.kind == "name" for word in words[:2] if len(words) == 2) and len(words) == 2)
    )


def _whole(source: Source, statement: range, rewrite: Rewrite) -> Region | None:
    """The statement, where it declares nothing and ends by itself."""
    tokens = source.tokens
    ended = statement.stop < len(tokens) and tokens[statement.stop].text == ";"
    statement = _without_heads(source, statement)
    if not ended or tokens[statement.start].text in _NOT_ALONE or _begins_declaration(source, statement):
        return None
    before = source.text[
        tokens[statement.start - 1].end if statement.start else 0 : tokens[statement.start].start
    ]
    if "#pragma" in before:  # it is about the loop, which must follow
        return None
    start, end = tokens[statement.start].start, tokens[statement.stop].end
    if rewrite.start < start or rewrite.end > end or rewrite.text.count("{") != rewrite.text.count("}"):
        return None
    return Region(start, end, is_statement=True)


def _without_heads(source: Source, statement: range) -> range:
    """A statement without `else` before it; where one follows, without the test: braces around would end that."""
    tokens, first = source.tokens, statement.start
    followed = source.word(statement.stop + 1) == "else"
    while first + 1 < statement.stop:
        if tokens[first].text == "else":
            first += 1
        elif followed and tokens[first].text == "if" and first + 1 in source.partner:
            first = source.partner[first + 1] + 1
        else:
            break
    return range(first, statement.stop)


def _begins_declaration(source: Source, statement: range) -> bool:
    """Two names beside each other, or with an asterisk between, before anything is assigned or called."""
    tokens = source.tokens
    for i in range(statement.start, statement.stop - 1):
        if tokens[i].text in ASSIGNMENTS or tokens[i].text in ("(", "[", ".", "->"):
            return False
        if tokens[i].kind == "name" and tokens[i + 1].kind == "name":
            return True
        if i > statement.start and tokens[i].text in ("*", "&", ">") and tokens[i + 1].kind == "name":
            return True
    return False
