"""A change of the source with which everything holds, and how far it is believed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.checks import numerics
from layoutprobe.gate.source_edits import SourceEdit
from layoutprobe.manifest.model import KernelCase
from layoutprobe.observe.work import Work
from layoutprobe.place import SourceLine
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import Unlisted
from layoutprobe.rewrites.known import parameters
from layoutprobe.rewrites.spot import Rewrite
from layoutprobe.source.declarations import declared_in
from layoutprobe.source.expressions import body_behind, function_around, function_name
from layoutprobe.source.reach import parameters_of_templates
from layoutprobe.source.statements import Source, words
from layoutprobe.source.tree import parse


class Held(Struct, frozen=True):
    """A change with which everything holds at the manifest's sizes.

    Attributes:
        edit: the change.
        unlisted: what goes wrong with it at others.
        longer: some wave has several times as much to do with it.
        idle: a line of which loads or stores are executed as it is, and none with it; None where there is none.
        fewer: so many fewer are executed with it as that line has: it has not lost its name alone.
        more: all waves together have more to do with it than in the kernel as it is.
        plainer: a XOR of the source, or a term of a constant, is none with it.
        of_both: it is of a function through which loads and stores of LDS both go, where these do not agree.
        of_many: it is of a macro that stands at several places.
        in_loop: it is of the head of a loop.
        unread: with it a parameter of a template or helper is not read any more, or an array not filled.
        one_more: it has a number more than what it replaces, where a name may be meant.
        uneven: a constant of the source is no power of two with it, and was one: a tile may fit so by chance.
        neutral: a number comes that has no effect where it stands, as in `n / 1`.
        of_extents: it adds one extent to another, `M + N`, which nothing else in the source does: what is done beyond
            the edge has no effect, and any larger number may hold.
        narrower: it has a float of 16 bits where there was none, and is judged by a wider tolerance for that.
        doubled: it makes something of two equal operands, `TILE + TILE` or `min(n, n)`: nobody writes that.
        within: the function that it changes; "" for none.
        called: functions whose calls it changes, where it has one word for another.
        old: what it replaces.
        work: instructions that all waves execute with it, together.
        longest: those of the wave that executes most.
    """

    edit: SourceEdit
    unlisted: tuple[Unlisted, ...] = ()
    longer: bool = False
    idle: SourceLine | None = None
    fewer: bool = False
    more: bool = False
    plainer: bool = False
    of_both: bool = False
    of_many: bool = False
    in_loop: bool = False
    unread: bool = False
    one_more: bool = False
    uneven: bool = False
    neutral: bool = False
    of_extents: bool = False
    narrower: bool = False
    doubled: bool = False
    within: str = ""
    called: frozenset[str] = frozenset()
    old: str = ""
    work: int = 0
    longest: int = 0

    def weighing(self, other: Held) -> Held:
        """The same with what runs tell of another one, which compiles to the same code."""
        return replace(
            self,
            unlisted=other.unlisted,
            longer=other.longer,
            idle=other.idle,
            fewer=other.fewer,
            more=other.more,
            work=other.work,
            longest=other.longest,
        )

    def may_lead(self, findings: Sequence[Finding]) -> bool:
        """Nothing goes wrong at other sizes, or nothing but what a right kernel may have: it bears no larger size.
        What mends values by chance goes wrong in values there, or as it did; elements that are never stored are those
        of a size for which there is no more room."""
        if self.uneven or self.of_extents:  # nobody means it
            return False
        kinds = {numerics.NAME, *(found.check for found in findings)}
        known = {found.rule.id for found in findings}
        beyond = (one.rule for one in self.unlisted if one.rule not in _BEARS_NO_MORE - known)
        return not any(rule.partition("/")[0] in kinds for rule in beyond)

    @property
    def may_be_beaten(self) -> bool:
        """Whether others are looked for longer: it does more than the kernel as it is, goes wrong at sizes that are
        not listed, has a number where a name may be meant, changes several statements, or what several use."""
        return self.more or bool(self.unlisted) or self.brings_number or self.of_several or self.of_many

    @property
    def of_several(self) -> bool:
        """Whether it changes several statements, of which another change may need one."""
        return ";" in self.old

    @property
    def brings_number(self) -> bool:
        """Whether a number comes that something else than the source has told, or one more than there was."""
        return self.edit.rewrite.kind in _OF_NUMBERS or self.one_more

    def is_doubtful(self, case: KernelCase) -> bool:
        """Whether it brings a number that is an extent at some size, and may hold for it alone; makes a wave or other
        code do what others should, an uneven tile, a float of 16 bits, or something of two equal operands; has a loop
        go further, as more passes may do what is left out; leaves a parameter unread; or takes a swizzle or a padding
        away from one side, where the other one lacks it, or changes it for both."""
        if (
            self.longer
            or self.idle is not None
            or self.plainer
            or self.of_both
            or self.unread
            or self.uneven
            or self.narrower
            or self.doubled
            or (self.in_loop and self.edit.rewrite.text.lstrip().startswith("+"))
        ):
            return True
        if self.edit.rewrite.kind in _OF_WAVES:
            return False
        extents = {value for size in case.sizes for value in size.values() if value > _SMALL}
        brought = Counter(_WHOLE.findall(self.edit.rewrite.text)) - Counter(_WHOLE.findall(self.old))
        return any(int(number) in extents for number in brought)


_BEARS_NO_MORE = frozenset((f"{numerics.NAME}/never-defined", "epilogue/never-written"))
"""Rules of what a kernel leaves out that is launched for more than it has been made for."""
_WHOLE = re.compile(r"(?<![\w.])\d{1,9}\b(?!\.)")


def of_text(edit: SourceEdit, text: str, beside: Iterable[str] = ()) -> Held:
    """A change with what its text tells of it.

    Args:
        edit: the change.
        text: the file as it is.
        beside: the kernel's other files.
    """
    start, source = edit.rewrite.start, Source(text)
    head = _line_before(text, start).lstrip()
    old, new = text[start : edit.rewrite.end], edit.rewrite.text
    calls = re.search(r"\w\(", new) is not None  # of what has one, perhaps
    line = _line_before(text, start)
    plainer = ("^" in old and "^" not in new and not calls) or is_padding(head, old, new)
    plainer |= (
        _is_xored(line) and _FIXED.fullmatch(new.strip()) is not None and not _FIXED.fullmatch(old.strip())
    )
    of_both = edit.finding.rule.id in _DISAGREE and _is_called_by_several(source, start)
    in_loop, one_more = _is_in_head(source, start), len(_numbers(new)) > len(_numbers(old))
    unread = _leaves_unread(source, start, old, new) or _leaves_unfilled(source, start, old)
    return Held(
        edit,
        plainer=plainer,
        of_both=of_both,
        of_many=_is_of_macro(text, start, beside),
        in_loop=in_loop,
        unread=unread,
        one_more=one_more,
        uneven=_CONSTANT.match(head) is not None and _is_even(old) and not _is_even(new),
        neutral=_NEUTRAL.search(line + new) is not None,
        of_extents=_adds_extents(text, edit.rewrite),
        narrower=_NARROW.search(new) is not None and _NARROW.search(old) is None,
        doubled=_doubles(source, start) < _doubles(Source(edit.rewrite.apply(text)), start),
        within=function_name(source, source.token_at(start)) if source.tokens else "",
        called=_calls_around(source, start) if _WORD.fullmatch(old) and _WORD.fullmatch(new) else frozenset(),
        old=old,
    )


def _calls_around(source: Source, offset: int) -> frozenset[str]:
    """Functions in whose calls a place of the text lies."""
    at = source.token_at(offset)
    within = source.around(at) if source.tokens else range(0)
    return frozenset(name for name, call in source.whole_calls(within) if at in call)


_WORD = re.compile(r"[\w.]+")


def _doubles(source: Source, offset: int) -> int:
    """How often the statement at a place of the text has a sum or a test of two equal operands, or the larger one of
    them, or the smaller."""
    if not source.tokens:
        return 0
    found = 0
    for node in parse(source, source.around(source.token_at(offset))).walk():
        of_call = node.kind == "call" and node.first and _EITHER.fullmatch(source.tokens[node.first - 1].text)
        if node.kind in _OF_SEVERAL or of_call:
            names = [source.slice(part.first, part.last) for part in node.parts]
            found += len(names) - len(set(names))
    return found


_OF_SEVERAL = ("sum", "comparison", "equality", "all", "any")
_EITHER = re.compile(r"(?:\w+::)?f?(?:min|max)f?")


def _adds_extents(text: str, rewrite: Rewrite) -> bool:
    """Whether a change makes a sum of two extents that the text has nowhere."""
    return bool(_sums_of_extents(rewrite.apply(text)) - _sums_of_extents(text))


def _sums_of_extents(text: str) -> set[frozenset[str]]:
    """Pairs of extents that are terms of one sum, and no factors."""
    found = set[frozenset[str]]()
    pieces = _PARTED.split(text.replace("::", ".").replace("->", "."))  # `P::BLOCK` is no `P`
    for nth in range(0, len(pieces), 2):
        parts = ["+", *re.split(r"([+-])", pieces[nth])]
        signed = zip(parts[::2], parts[1::2], strict=True)
        terms = ["" if sign == "-" else term.strip() for sign, term in signed]  # `M - m` is what is left
        before, behind = pieces[nth - 1 : nth] or [""], pieces[nth + 1 : nth + 2] or [""]
        terms = terms[before[0] in _FACTORS :][: -1 if behind[0] in (*_FACTORS, "(", "[") else None]
        named = {term for term in terms if _EXTENT.fullmatch(term)}
        found.update(map(frozenset, combinations(sorted(named), 2)))
    return found


_PARTED = re.compile(r"([^\w\s.+-])")
_FACTORS = ("*", "/", "%")
_EXTENT = re.compile(r"(?:\w+\.)?[A-Zmnk]")
"""As extents of matrices and tensors are written: `p.m`, `N`."""


_NARROW = re.compile(r"\b(?:_Float16|__?half|half|__bf16|_*(?:hip_)?bfloat16|f16|bf16)\b")
"""Floats of 16 bits, as they are written."""


def _is_in_head(source: Source, offset: int) -> bool:
    """Whether a place of the text is in the head of a loop; what a loop does may stand in the same line."""
    opened = source.parent[source.token_at(offset)] if source.tokens else -1  # of macros alone
    while opened >= 0 and not source.is_block(opened):
        if source.word(opened - 1) in ("for", "while"):
            return True
        opened = source.parent[opened]
    return False


def _is_xored(line: str) -> bool:
    """Whether what follows is, or is part of, what something is XORed with."""
    before, sign, behind = line.rpartition("^")
    return bool(sign) and not before.endswith("^") and behind.count("(") >= behind.count(")")


_FIXED = re.compile(r"[A-Z][A-Z0-9_]*|\d+u?")
"""A number, or what is called like one: XORed with it all rows are swizzled alike, which is no swizzle."""
_NEUTRAL = re.compile(r"(?:[*/%] *1|(?<![-+])[-+] *0|(?:<<|>>|(?<!\^)\^|(?<!\|)\|) *0)[uUlLf]*$")
"""What ends with such a step need not have been written."""
_CONSTANT = re.compile(
    r"#\s*define\b|(?:static |inline |const |__shared__ )*constexpr\b|static const\b|enum\b"
)


def _is_even(text: str) -> bool:
    """Whether a text is a power of two, of more than a few, or no number at all."""
    number = re.fullmatch(r"\s*(\d{1,6})u?\s*", text)
    return number is None or (int(number[1]) > _SMALL and int(number[1]).bit_count() == 1)


def _leaves_unread(source: Source, offset: int, old: str, new: str) -> bool:
    """Whether a change takes away the only place where the function around it reads one of its parameters; kernels
    have some that they do not need."""
    function = function_around(source, source.token_at(offset))
    kernel = any(source.tokens[i].text == "__global__" for i in function)
    names = parameters_of_templates(source, function).union(() if kernel else parameters(source, function))
    often = Counter(source.tokens[i].text for i in function if i not in declared_in(source))
    less = Counter(words(old))
    less.subtract(words(new))
    return any(0 < often[name] <= less[name] for name in names)


def _leaves_unfilled(source: Source, offset: int, old: str) -> bool:
    """Whether a change takes an array from the only atomic of the function around it that adds to that."""
    if re.search(r"\batomic\w+\(\s*&?\s*$", source.text[max(offset - _HEAD, 0) : offset]) is None:
        return False
    function = function_around(source, source.token_at(offset))
    added = re.findall(r"\batomic\w+\(\s*&?(\w+)", source.slice(function.start, function.stop))
    return added.count(old) == 1


_HEAD = 80
"""Characters before an array in which the atomic's name is looked for."""


def _numbers(text: str) -> list[str]:
    """Whole numbers of a text, but for 0 and 1."""
    return re.findall(r"(?<![\w.])(?:[2-9]|[1-9]\d+)\b(?!\.)", text)


_DISAGREE = tuple(f"swizzle/{name}" for name in ("lds-one-sided", "lds-stride", "lds-offset", "unexplained"))
"""Rules of loads and stores that do not agree: what both go through is right for one of them."""


def _is_called_by_several(source: Source, offset: int) -> bool:
    """Whether the function around a place of the text is called in several others, as by who stores and who loads."""
    if _MACRO.match(_line_before(source.text, offset)):
        return _is_of_macro(source.text, offset, ())
    own = function_name(source, source.token_at(offset))
    calls = (opened for name, opened in source.calls(range(len(source.tokens))) if name == own)
    outside = [opened for opened in calls if body_behind(source, opened) is None]
    return len({function_name(source, opened) for opened in outside}) > 1


def _is_of_macro(text: str, offset: int, beside: Iterable[str]) -> bool:
    """Whether a place of a file is in a macro with parameters that stands at several places of all files."""
    macro = _MACRO.match(_line_before(text, offset))
    return (
        macro is not None and sum(len(re.findall(rf"\b{macro[1]}\(", one)) for one in (text, *beside)) > _BOTH
    )


def _line_before(text: str, offset: int) -> str:
    return text[text.rfind("\n", 0, offset) + 1 : offset]


_MACRO = re.compile(r"\s*#\s*define\s+(\w+)\(")
_BOTH = 2
"""Places where a macro stands that is defined once and used once."""


def is_padding(head: str, old: str, new: str) -> bool:
    """Whether a change takes a term away from a constant, as `+ 8` from the length of a row in LDS.

    Args:
        head: what its line begins with.
        old, new: what is replaced, and by what.
    """
    constant = _CONSTANT.match(head)
    if constant is None:
        return False
    # What follows a plus is the padding: a share of it may be none.
    share = "+" in head and re.match(r"\s*[-/%&*]", new) is not None
    return share or (re.fullmatch(r"\s*\+\s*\w+\s*", old) is not None and not new.strip())


_OF_NUMBERS = ("steps", "told")
"""Kinds of changes that bring a number which something else than the source has told."""
_OF_WAVES = ("distances",)
"""Kinds of changes that bring a number which a wave has, whatever sizes there are."""
_SMALL = 4
"""Up to which numbers are what they are in any kernel, as one more and half of it."""


def likeliest(found: Sequence[Held], case: KernelCase, usual: Work | None) -> list[Held]:
    """Those that are not doubted, if there are any: first what goes wrong nowhere, leaves no wave alone with the work
    of others, and has no more to do than the kernel as it is, or else than another change; and then the likeliest.
    What makes up for a mistake by doing more, as a tile that nothing is stored of, or further passes, is not what was
    meant.

    Args:
        found: changes that hold.
        case: the kernel.
        usual: what it does as it is; None where it does not come to its end.
    """
    held = [one for one in found if not one.is_doubtful(case)] or list(found)
    least = max(min((one.work for one in held), default=0), usual.all if usual is not None else 0)
    shared = max(min((one.longest for one in held), default=0), usual.longest if usual is not None else 0)
    return sorted(
        held,
        key=lambda one: (
            len(one.unlisted),
            one.longest > _ALONE * shared,
            one.work > MORE * least,
            _is_for_a_name(one, held),
            one.in_loop and one.more,
            one.neutral,
            one.of_many,
            one.of_several,
            _is_of_what_is_called(one, held),
            _is_around_another(one, held),
            one.edit.rank,
        ),
    )


def _is_of_what_is_called(one: Held, held: Sequence[Held]) -> bool:
    """Whether it changes a helper of another file, where another word in a call of it is enough: other kernels call
    it, too."""
    return any(one.within in other.called for other in held if other.edit.file != one.edit.file)


def _is_for_a_name(one: Held, held: Sequence[Held]) -> bool:
    """Whether a change brings a number at a place where another one has a name for it."""
    edit = one.edit
    beside = (
        other.edit.rewrite.start - edit.rewrite.start
        for other in held
        if other.edit.file == edit.file and not other.brings_number
    )
    return one.brings_number and any(abs(away) < _BESIDE for away in beside)


def _is_around_another(one: Held, held: Sequence[Held]) -> bool:
    """Whether it does something at several places at once, where one of them is enough for another change."""
    mine, everywhere = one.edit.rewrite, _is_everywhere(one)
    inside = (
        its
        for its in (other.edit.rewrite for other in held if other.edit.file == one.edit.file)
        if mine.start <= its.start and its.end <= mine.end and its.end - its.start < mine.end - mine.start
    )
    return any(everywhere or (its.kind == mine.kind and its.text in mine.text) for its in inside)


def _is_everywhere(one: Held) -> bool:
    """Whether it has one word for another at several places."""
    old, new = (re.findall(r"\w+|\S", text) for text in (one.old, one.edit.rewrite.text))
    ways = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    changed = [(*old[i:j], "for", *new[k:m]) for way, i, j, k, m in ways if way != "equal"]
    return len(changed) > 1 and len(set(changed)) == 1


_BESIDE = 80
"""Characters between what is changed in one statement."""
MORE, _ALONE = 1.1, 1.4
"""How many times the least work is more than that, of all waves and of the longest: compilers make a few instructions
more or less of the same."""
