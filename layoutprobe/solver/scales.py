"""The scales of an instruction: which byte of which lane multiplies which product.

Bytes are E8M0: code 127 + n stands for 2**n. With one element of A hot at a time and ones in B, each output
shows the scale of one product, and so the number of its byte. k that share a byte, in any row of A or any
column of B, make up a block; only renamings that keep blocks together go unseen.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.errors import ProbeError
from layoutprobe.numbers import NO_NUMBER, DigitCode
from layoutprobe.solver.alphabet import alphabet_of
from layoutprobe.solver.bench import Bench
from layoutprobe.solver.classes import components, lowest, rank_within
from layoutprobe.solver.hotsets import Meetings
from layoutprobe.solver.lines import Names
from layoutprobe.solver.sparse import hot_one_by_one

Ints = NDArray[np.int64]

BYTES = 4
"""Scales in a register."""
ONE = 127
_LETTERS = 60
"""Powers of two, from 2**1 on, that number bytes: a product of two of them is still a number of f32."""


def scale_words(codes: NDArray[np.integer]) -> NDArray[np.uint32]:
    """Scale registers [wave, lane] of codes [wave, lane * BYTES]."""
    words = codes.reshape(len(codes), -1, BYTES).astype(np.uint32) << 8 * np.arange(BYTES, dtype=np.uint32)
    return np.asarray(np.bitwise_or.reduce(words, axis=2), np.uint32)


def find_scales(bench: Bench, met: Meetings) -> Mapping[str, Ints]:
    """Of "A" and of "B": the byte that scales each product: lane * BYTES + byte; [product].

    Raises:
        ProbeError: a product shows no byte.
    """
    extents = bench.extents
    count = extents.lanes * BYTES
    code = DigitCode.of(count, _LETTERS)
    number = np.arange(count)
    letters = scale_words(np.stack([ONE + code.digit(number, digit) for digit in range(code.digits)]))
    rank, slots = hot_one_by_one(bench, met)
    ones = alphabet_of(extents.types["B"])
    b = np.full((1, extents.count("B")), ones.one, ones.raw)
    asked = {
        name: bench.ask(
            f"scales of {name}",
            len(slots) * code.digits,
            a=np.repeat(slots, code.digits, axis=0),
            b=b,
            **{f"scale_{name.lower()}": np.tile(letters, (len(slots), 1))},
        )
        for name in "AB"
    }
    found = {}
    for name, answer in asked.items():
        value = answer.numbers.reshape(len(slots), code.digits, -1)
        fraction, exponent = np.frexp(value[rank, :, met.d])
        byte = code.numbers(list((exponent - 1).T))
        if (fraction != 0.5).any() or (byte == NO_NUMBER).any() or (byte >= count).any():
            raise ProbeError(
                f"A product is multiplied by no single scale of {name}",
                expected="a power of two that names one byte of the scale registers",
                hint="the instruction does not scale blocks of k",
            )
        found[name] = byte
    return found


def by_blocks(names: Names, met: Meetings, scales: Mapping[str, Ints]) -> tuple[Names, int]:
    """The names with k renamed so that those that share scales are neighbours, and how many do.

    Raises:
        ProbeError: blocks of different sizes, or of A and B different ones.
    """
    k, shared = names.a_k[met.a], int(max(scales["A"].max(), scales["B"].max())) + 1
    bytes_of = np.concatenate([scales["A"], shared + scales["B"]])
    count = int(k.max()) + 1
    block, _ = components(np.tile(k, 2), bytes_of, count, 2 * shared)
    sizes = np.bincount(block)
    if (sizes != sizes[0]).any():
        raise ProbeError(
            "Scales are shared by blocks of k of different sizes",
            expected="blocks of one size",
            observed=", ".join(str(size) for size in np.unique(sizes)),
        )
    size = int(sizes[0])
    shares = np.count_nonzero(np.bincount(bytes_of * count + np.tile(k, 2)))
    if shares != np.count_nonzero(np.bincount(bytes_of)) * size:
        raise ProbeError(
            "A scale of A and one of B do not multiply the same k",
            expected="blocks of k, each with one scale for a row of A and one for a column of B",
            observed=f"scales that cut blocks of {size} k",
        )
    first = rank_within(np.zeros(sizes.size, np.int64), lowest(block, np.arange(count)))
    order = size * first[block] + rank_within(block, np.arange(count))
    rules = {**names.rules, "K": "k in blocks that share a scale; in each, " + names.rules["K"]}
    a_k, b_k = (np.where(line >= 0, order[line], line) for line in (names.a_k, names.b_k))
    return replace(names, rules=rules, a_k=a_k, b_k=b_k), size


__all__ = ["BYTES", "ONE", "by_blocks", "find_scales", "scale_words"]
