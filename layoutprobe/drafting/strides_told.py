"""What host code leaves to its caller, by the names: strides, numbers of heads, and what convolutions are told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product

from msgspec.structs import replace

from layoutprobe.codeobj.parameters import Parameter
from layoutprobe.drafting.launch_sites import LaunchSite
from layoutprobe.drafting.products import EXTENTS, FoundProduct

_STRIDE = re.compile(
    r"(?:batch_?)?stride_?(?:batch_?)?([a-e])|([a-e])_?(?:batch_?)?stride(?:_?batch)?", re.IGNORECASE
)
_LEADING = re.compile(r"ld_?([abcd])|([abcd])_?ld|leading_?([abcd])", re.IGNORECASE)
_KEYS = tuple(re.compile(one, re.IGNORECASE) for one in ("_kv", "kv_", "kv", "(?<=heads)_?k$"))
"""Of names that say that a size is of keys."""
_HEADS = re.compile(r"head|(?:^|_)n?h|kv_?h|h$", re.IGNORECASE)
"""In names of numbers of heads; keys themselves are as many as they are, and no part of the queries."""
_ROWS = re.compile(
    r"(?:(?:row|in(?:put)?|out(?:put)?|x|y|src|dst)_?)?(?:stride|pitch|ld)(?:_?(?:row|in|out|x|y))?",
    re.IGNORECASE,
)
"""Of names of what lies between rows that are of no matrix."""
_SMALL = {
    re.compile(r"pad(?:ding)?(?:_?[hwxy])?", re.IGNORECASE): 1,
    re.compile(r"dil(?:ation)?(?:_?[hwxy])?", re.IGNORECASE): 1,
    re.compile(r"(?:k|kernel|filter)_?(?:size|[hw])", re.IGNORECASE): 3,
}
"""Names of what a convolution is told, and what it often is."""
_EPSILON = re.compile(r"(?:\w+_)?eps(?:ilon)?", re.IGNORECASE)
_USUAL_EPSILON = 1e-5
_STEPS = re.compile(r"(?:conv_)?stride(?:_?[hwxy])?", re.IGNORECASE)
_PADDING = 8
"""Elements between rows, where a caller chooses how many: with none, rows and leading dimension are the same."""


def with_strides(site: LaunchSite, parameters: Sequence[Parameter]) -> LaunchSite:
    """A batch's strides and leading dimensions, where the host is told them, by their names: matrices lie behind each
    other, and rows as columns fit."""
    sizes = {one.name.upper(): text for one, text in zip(parameters, site.arguments, strict=True)}
    if not {"M", "N", "K"} <= set(sizes):
        return _with_rows(site, parameters)
    leading = _leading(site, parameters)
    texts = []
    for one, text in zip(parameters, site.arguments, strict=True):
        extents = [sizes[name] for name in EXTENTS.get(_matrix_of(_STRIDE, one.name), ())]
        either = [sizes[name] for name in EXTENTS.get(_matrix_of(leading, one.name), ())]
        if extents and leading is not _STRIDE and text.isidentifier():
            text = " * ".join(extents)
        elif either and text.isidentifier() and text not in either:
            rows, columns = either
            text = f"({columns} if {columns} > {rows} else {rows}) + {_PADDING}"
        texts.append(text)
    return replace(site, arguments=tuple(texts))


def _with_rows(site: LaunchSite, parameters: Sequence[Parameter]) -> LaunchSite:
    """With rows that lie behind each other, where what lies between them is told behind their length."""
    texts = list(site.arguments)
    if small_of(tuple(texts)):
        return site
    lengths = [i for i, one in enumerate(parameters) if one.dtype[:1] in ("i", "u") and not is_rows(one.name)]
    for i, one in enumerate(parameters):
        before = [texts[j] for j in lengths if j < i and not parameters[j].pointer]
        if is_rows(one.name) and not one.pointer and texts[i].isidentifier() and before:
            texts[i] = before[-1]
    return replace(site, arguments=tuple(texts))


def is_rows(name: str) -> bool:
    """Whether an argument says what lies between rows, by its name."""
    return bool(_ROWS.fullmatch(name))


def small_of(names: Sequence[str]) -> dict[str, int]:
    """Sizes that a convolution is told, by their names, and what they often are."""
    found = {name: value for name in names for pattern, value in _SMALL.items() if pattern.fullmatch(name)}
    return found | {name: 1 for name in names if found and _STEPS.fullmatch(name)}


def as_stored(site: LaunchSite, parameters: Sequence[Parameter], found: FoundProduct) -> LaunchSite:
    """With leading dimensions that were chosen to fit rows as columns: those of the order in which matrices lie."""
    sizes = {one.name.upper(): text for one, text in zip(parameters, site.arguments, strict=True)}
    orders = {"A": found.a.order, "B": found.b.order, "D": found.d.order}
    texts = list(site.arguments)
    for i, one in enumerate(parameters):
        letter = _matrix_of(_leading(site, parameters), one.name)
        if letter and texts[i].endswith(f" + {_PADDING}") and " if " in texts[i]:
            rows, columns = EXTENTS[letter]
            texts[i] = f"{sizes[columns if orders[letter] == 'row' else rows]} + {_PADDING}"
    return replace(site, arguments=tuple(texts))


def is_epsilon(name: str) -> bool:
    """Whether an argument keeps a division from zero, by its name."""
    return bool(_EPSILON.fullmatch(name))


def usual_number(name: str) -> float:
    """What a float is that the caller chooses: beside a large epsilon the sums of rows would weigh little."""
    return _USUAL_EPSILON if is_epsilon(name) else 1.0


def apart(site: LaunchSite, parameters: Sequence[Parameter]) -> LaunchSite | None:
    """The launch with a batch of one, where the caller says how far matrices of a batch lie apart, and rows of these;
    None for any other."""
    sizes = {one.name.upper(): text for one, text in zip(parameters, site.arguments, strict=True)}
    told = [
        {
            _matrix_of(pattern, one.name)
            for one, text in zip(parameters, site.arguments, strict=True)
            if text.isidentifier()
        }
        - {""}
        for pattern in (_STRIDE, _LEADING)
    ]
    extents = [sizes.get(name, "") for name in "MNK"]
    axes = [at for at, text in enumerate(site.grid) if text.isidentifier() and text not in extents]
    if "" in extents or not axes or not told[0] & told[1]:
        return None
    grid = tuple("1" if at == axes[-1] else text for at, text in enumerate(site.grid))
    return replace(site, grid=grid)


def with_distances(site: LaunchSite, parameters: Sequence[Parameter], found: FoundProduct) -> LaunchSite:
    """With leading dimensions by the order of a product, and the matrices of a batch behind each other."""
    site = as_stored(with_strides(site, parameters), parameters, found)
    sizes = {one.name.upper(): text for one, text in zip(parameters, site.arguments, strict=True)}
    lengths = {
        letter: text
        for one, text in zip(parameters, site.arguments, strict=True)
        if (letter := _matrix_of(_LEADING, one.name))
    }
    orders = {"A": found.a.order, "B": found.b.order, "D": found.d.order}
    texts = list(site.arguments)
    for i, one in enumerate(parameters):
        letter = _matrix_of(_STRIDE, one.name)
        if letter in lengths:
            rows, columns = EXTENTS[letter]
            texts[i] = f"{sizes[rows if orders[letter] == 'row' else columns]} * ({lengths[letter]})"
    return replace(site, arguments=tuple(texts))


def whole_of(name: str, names: Sequence[str]) -> str:
    """Of heads of keys, by their name, those of queries, which are a multiple of them; "" for another size."""
    if not _HEADS.search(name):
        return ""
    told = (pattern.sub(put, name) for pattern, put in product(_KEYS, ("", "q", "q_", "_q")))
    return next((one for one in told if one != name and one in names), "")


def _leading(site: LaunchSite, parameters: Sequence[Parameter]) -> re.Pattern[str]:
    """How leading dimensions are called: also strides, where there are no batches and no other leading dimensions."""
    batched = site.grid[2] != "1" or any("batch" in one.name.lower() for one in parameters)
    return _LEADING if batched or any(_matrix_of(_LEADING, one.name) for one in parameters) else _STRIDE


def _matrix_of(pattern: re.Pattern[str], name: str) -> str:
    """Of which matrix an argument of this name says something; "" for none."""
    found = pattern.fullmatch(name)
    letter = next(filter(None, found.groups())).upper() if found else ""
    return "D" if letter in ("C", "E") else letter
