"""The table of a kernel in a drafted manifest, from launches that happened: grids, extents, types and the product as
they were seen."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Sequence
from functools import cached_property

from layoutprobe.codeobj.parameters import signature_of
from layoutprobe.drafting.assumed import EACH_ONCE
from layoutprobe.drafting.bits import float_behind, types_read
from layoutprobe.drafting.fits import fit, fit_extent
from layoutprobe.drafting.made_up import INDICES
from layoutprobe.drafting.outcome import Made, Trial
from layoutprobe.drafting.products import (
    EXTENTS,
    FoundProduct,
    Operand,
    find_product,
    leading,
    matrix_shape,
    readings,
)
from layoutprobe.drafting.reference_terms import Tensors
from layoutprobe.drafting.references import DraftedReference, References
from layoutprobe.drafting.seen import SeenBuffer, SeenLaunch
from layoutprobe.drafting.strides_told import is_epsilon, is_rows, small_of
from layoutprobe.drafting.words import expression, liked, name_of, named_arguments, quoted, repr_of, sized
from layoutprobe.manifest.model import Sizes
from layoutprobe.numbers import element_type

_MOST_SIZES = 5
_MOST_BYTES = 64 << 20
"""Of the buffers of a size that the manifest lists: the gate runs it many times."""
_INTEGERS = {1: "b", 2: "h", 4: "i", 8: "q"}
_FLOATS = {"f32": "f", "f64": "d", "f16": "e"}
_NULL = bytes(8)


class SeenDraft:
    """The launches of one kernel, and what follows from them."""

    def __init__(
        self,
        launches: Sequence[SeenLaunch],
        trial: Trial | None = None,
        references: References | None = None,
    ) -> None:
        first, self.trial, self.references = launches[0], trial, references
        signature = trial.signature if trial else signature_of(first.code, first.kernel)
        made = trial.made if trial else None
        self.arguments = named_arguments(first.kernel, signature, {made.argument: made.name} if made else {})
        pointers = set(first.buffers)
        self.launches = [launch for launch in launches if set(launch.buffers) == pointers]
        self.first = first
        self.name = name_of(first.kernel, signature)
        self.called = {self.name, first.kernel.name}
        self.integers = {
            i: [_integer(launch.values[i], one.dtype) for launch in self.launches]
            for i, one in enumerate(self.arguments)
            if i not in pointers and one.dtype.startswith(("i", "u")) and len(first.values[i]) in _INTEGERS
        }
        self.product = trial.product if trial else self._found()
        self.sizes: Sequence[Sizes] = (
            self.product.sizes if self.product else trial.values if trial else self._by_arguments()
        )
        self._shown = self.launches[self.product.shown if self.product and not trial else 0]
        self.extents = self._matching()

    @cached_property
    def _all_read(self) -> str:
        """What all operands of matrix instructions are; "" where they differ, or there are none."""
        kinds = set(types_read(self.first.code, self.first.kernel).values())
        return kinds.pop() if len(kinds) == 1 else ""

    @cached_property
    def _reference(self) -> DraftedReference | None:
        """What is known of the outputs of a kernel that is no product."""
        if self.product or self.references is None or not any(b.stored for b in self.first.buffers.values()):
            return None
        tensors = self._tensors(len(self.launches))
        if not tensors.outputs:  # of no known type
            return None
        found = DraftedReference(tensors)
        if found.missing and self.trial and self.trial.filled:
            usual = DraftedReference(self._tensors(len(self.launches) - 1))
            found = usual if len(usual.missing) < len(found.missing) else found
        return found

    def _tensors(self, count: int) -> Tensors:
        """The first launches as numbers."""
        floats = {i: self._float(i) for i, one in enumerate(self.arguments) if one.dtype in _FLOATS}
        return Tensors(
            self.launches[:count],
            self.sizes[:count],
            [one.name for one in self.arguments],
            [float_behind(one.dtype, self._all_read) or one.dtype for one in self.arguments],
            {i: value for i, value in floats.items() if value is not None},
        )

    def _found(self) -> FoundProduct | None:
        named, typed = zip(*((one.name, one.dtype) for one in self.arguments), strict=True)
        return find_product(self.launches, named, typed, self.integers)

    def _by_arguments(self) -> Sequence[Sizes]:
        """Sizes of a kernel that is no product: its integers, under their own names; or the first extent."""
        names = {i: self.arguments[i].name for i in self.integers}
        found = [
            {names[i]: values[at] for i, values in self.integers.items() if values[at] > 0}
            for at in range(len(self.launches))
        ]
        if all(found) and len({tuple(one) for one in found}) == 1:
            return found
        return [{"N": self._elements(launch)} for launch in self.launches]

    def _elements(self, launch: SeenLaunch) -> int:
        counts = [b.size // _width(self.arguments[i].dtype) for i, b in launch.buffers.items()]
        return max(counts, default=1) or 1

    def _matching(self) -> tuple[tuple[str, str, str], bool]:
        """The grid as expressions, and whether they hold for all launches; else the smallest launch's alone."""
        told = tuple(map(self._known, self.trial.site.grid)) if self.trial else ("",)
        if all(told):
            return (told[0], told[1], self._batches(told[2])), True
        liked = (("N", "M"), ("M", "N"), ("batch",))
        found = tuple(
            fit_extent([launch.grid[axis] for launch in self.launches], self.sizes, liked[axis])
            for axis in range(3)
        )
        if None not in found:
            return tuple(one or "" for one in found), True  # type: ignore[return-value]  # three of them
        self.launches, self.sizes = [self.launches[0]], [self.sizes[0]]
        x, y, z = self.launches[0].grid
        return (str(x), str(y), str(z)), False

    def _batches(self, layers: str) -> str:
        """The grid's third extent; a number in the host's code that is the number of batches stands for these."""
        counts = {str(size.get("batch", "")) for size in self.sizes}
        return "batch" if counts == {layers} and layers != "1" else layers

    def made(self, argument: int) -> Made:
        """What the kernel stores as its product, as an argument of the next one, by its number there."""
        assert self.product is not None
        i = self.product.d.argument
        buffers = [launch.buffers[i] for launch in self.launches]
        lines = tuple(self._matrix("D", self.product.d, buffers))
        return Made(argument, self.name, self.arguments[i].name, lines)

    # Text

    def lines(self, name: str, origin: Sequence[str]) -> Iterator[str]:
        """The [[kernel]] table; `origin` says what is built, or was."""
        grid, whole = self.extents
        count = len({tuple(size.values()) for size in self.sizes})
        yield "[[kernel]]"
        yield f"name = {quoted(name)}"
        yield from origin
        if self.trial and self.trial.made:
            yield f"after = [{quoted(self.trial.made.kernel)}]"
        yield f"grid = [{', '.join(one if one.isdigit() else quoted(one) for one in grid)}]" + (
            self._guessed_grid()
            if self.trial and not self.trial.site.seen
            else ""
            if whole and count > 1
            else "  # of one size"
            if whole
            else "  # of one launch: nothing fits them all"
        )
        yield f"block = {self._constant([launch.block for launch in self.launches])}"
        lds = fit([launch.dynamic_lds for launch in self.launches], self.sizes)
        if lds != "0":
            yield (
                f"dynamic_lds = {expression(lds)}"
                if lds
                else "dynamic_lds = 0  # FILL IN: no expression fits"
            )
        yield from self._sizes()
        yield self._contract(name)
        for i in range(len(self.arguments)):
            yield ""
            yield from self._argument(i)

    def _guessed_grid(self) -> str:
        """Why a grid may be so that no host code says."""
        assert self.trial is not None
        if not all(map(self._known, self.trial.site.grid)):
            return "  # FILL IN: no launch was found, and workgroups along an axis belong to no size"
        batches = ", but batches" if "batch" in self.trial.site.grid else ""
        return f"  # a guess, as no launch was found: beyond it nothing more is stored{batches}"

    def _sizes(self) -> Iterator[str]:
        if not self.trial or not self.trial.tile:
            yield f"sizes = [{', '.join(map(sized, self._listed()))}]"
            if self.trial and self.trial.multiple:
                yield f"multiple = {sized(self.trial.multiple)}  # at finer ones it touches more: meant, or a fault?"
            if self.trial and self.trial.where:
                why = (
                    "so it reaches as far as expressions say"
                    if self.trial.assumed.shared
                    else "by their names"
                )
                yield f"where = [{', '.join(map(quoted, self.trial.where))}]  # {why}"
            return
        yield f"tile = {sized(self.trial.tile)}"
        if self.trial.multiple:
            yield f"multiple = {sized(self.trial.multiple)}  # it was wrong at finer ones: is that meant, or a fault?"

    def _constant(self, blocks: Sequence[tuple[int, int, int]]) -> str:
        told = self.trial.site.block if self.trial else ("",) * 3
        texts = [
            fit([block[axis] for block in blocks], self.sizes) or self._known(told[axis]) or None
            for axis in range(3)
        ]
        if None in texts:
            return f"[{', '.join(map(str, blocks[0]))}]  # FILL IN: launches differ, and no expression fits"
        return f"[{', '.join(expression(text or '1') for text in texts)}]"

    def _listed(self) -> Sequence[Sizes]:
        """Distinct sizes, the smallest: the gate runs each several times."""
        cost = {
            tuple(size.items()): math.prod(size.values())
            for launch, size in zip(self.launches, self.sizes, strict=True)
            if sum(buffer.size for buffer in launch.buffers.values()) <= _MOST_BYTES
        }
        chosen = sorted(cost, key=lambda size: cost[size])[:_MOST_SIZES]
        return [dict(size) for size in chosen] or [self.sizes[0]]

    def _contract(self, name: str) -> str:
        found = self.product
        if self._reference is not None and self.references is not None:
            extents = {i: ", ".join(self._extents_told(i)) for i in self.first.buffers}
            return self.references.add(name, self._reference, extents)
        if found is None:
            return 'contract = { kind = "none" }  # FILL IN: "gemm", or "reference" with a Python function'
        parts = ['kind = "gemm"']
        for key, value, usual in (("alpha", found.alpha, 1.0), ("beta", found.beta, 0.0)):
            number = self._factor(key, value)[1]
            parts += [f"{key} = {number!r}"] if number != usual else []
        if found.bias is not None:
            parts.append(f"bias = {quoted(self.arguments[found.bias].name)}")
        if found.scales:
            parts.append(f"scales = [{', '.join(quoted(self.arguments[i].name) for i in found.scales)}]")
        if found.residual is not None:
            parts.append(f"residual = {quoted(self.arguments[found.residual].name)}")
        if found.split_k:
            parts.append("split_k = true")
        if found.activation:
            parts.append(f"activation = {quoted(found.activation)}")
        return f"contract = {{ {', '.join(parts)} }}  # {self._doubt() or 'as the data shows'}"

    def _doubt(self) -> str:
        """Why the product may be another one; "" where the data tells."""
        assert self.product is not None
        if self.product.ambiguous:
            return "FILL IN: the data fits other orders of A and B, too"
        loaded = {i for i, one in self.launches[0].buffers.items() if one.loaded and not one.stored}
        made = {self.trial.made.argument} if self.trial and self.trial.made else set()
        left = sorted(loaded - self.product.arguments - made)
        names = ", ".join(self.arguments[i].name for i in left)
        return f"FILL IN: {names} is loaded, and what for was not found" if left else ""

    def _factor(self, key: str, value: float) -> tuple[int | None, float]:
        """The argument that holds a factor of the product, and the factor."""
        floats = {i: self._float(i) for i, one in enumerate(self.arguments) if one.dtype in _FLOATS}
        near = [
            i for i, x in floats.items() if x is not None and abs(x - value) <= 0.02 * max(abs(value), 0.1)
        ]
        named = [i for i in near if self.arguments[i].name.lower() == key]
        chosen = named or (near if value not in (0.0, 1.0) else [])
        known = floats[chosen[0]] if chosen else None
        return (chosen[0], known) if chosen and known is not None else (None, round(value, 2))

    def _float(self, i: int) -> float | None:
        raw, code = self._shown.values[i], _FLOATS[self.arguments[i].dtype]
        if i in self._shown.buffers or len(raw) != struct.calcsize(code):
            return None
        return float(repr_of(struct.unpack("<" + code, raw)[0], self.arguments[i].dtype))

    def _argument(self, i: int) -> Iterator[str]:
        one, given = self.arguments[i], self.first.kernel.explicit_args[i]
        yield f"[[kernel.argument]]  # offset {given.offset}, {given.size} bytes"
        yield f"name = {quoted(one.name)}"
        if self.trial and i in self.trial.members:
            yield f"at = {self.trial.members[i]}  # in a structure"
        if i in self.launches[0].buffers:
            yield from self._buffer(i)
        elif given.kind == "global_buffer" and all(launch.values[i] == _NULL for launch in self.launches):
            yield 'role = "null"'
        elif one.dtype in _FLOATS and self._float(i) is not None:
            yield 'role = "scalar"'
            yield f'dtype = "{one.dtype}"'
            chosen = self.trial and is_epsilon(one.name) and self.trial.site.number(i) is None
            yield f"value = {self._scalar_float(i)}" + ("  # a guess: callers choose it" if chosen else "")
        elif i in self.integers:
            yield 'role = "scalar"'
            yield f'dtype = "{one.dtype}"'
            told = self._told(i)
            text = told if small_of(re.findall(r"\w+", told)) else None
            text = (
                text
                or fit(self.integers[i][: len(self.launches)], self._stated(), liked=liked(one.name))
                or told
            )
            behind = self.trial and is_rows(one.name) and (text or "").isidentifier() and text != one.name
            assumed = self.trial.assumed.told.get(i, "") if self.trial else ""
            why = "rows lie behind each other" if behind else assumed
            yield (
                f"value = {expression(text)}" + (f"  # a guess: {why}" if why else "")
                if text
                else f"value = {self.integers[i][0]}  # FILL IN: it varies"
            )
        else:
            yield 'role = "bytes"'
            same = len({launch.values[i] for launch in self.launches}) == 1
            yield f'hex = "{self.launches[0].values[i].hex()}"' + ("" if same else "  # FILL IN: it varies")

    def _told(self, i: int) -> str:
        """An integer as the host code computes it, where that is of the sizes alone; "" otherwise."""
        return self._known(self.trial.site.arguments[i]) if self.trial else ""

    def _known(self, text: str) -> str:
        """An expression of the host code that is one of the sizes; "" for another."""
        known = set(self.sizes[0]) | {"if", "else"}
        return text if set(re.findall(r"[A-Za-z_]\w*", text)) <= known else ""

    def _extent_of(self, name: str) -> str:
        """A size as shapes have it: its name, or 1 where a vector is and the manifest has no such size."""
        return quoted(name) if not self.trial or not self.trial.tile or name in self.trial.tile else "1"

    def _stated(self) -> Sequence[Sizes]:
        """The sizes of each launch that the manifest has."""
        return [{n: v for n, v in size.items() if self._extent_of(n) != "1"} for size in self.sizes]

    def _scalar_float(self, i: int) -> str:
        if self.product:
            for key, value in (("alpha", self.product.alpha), ("beta", self.product.beta)):
                if self._factor(key, value)[0] == i:
                    return quoted(key)
        return repr(self._float(i))

    def _buffer(self, i: int) -> Iterator[str]:
        yield from self._plain_buffer(i)
        if self.launches[0].buffers[i].groups:
            yield "pointers = true"

    def _extents_told(self, i: int) -> Iterator[str]:
        """Type and shape of a buffer, without words."""
        for line in self._buffer(i):
            key, _, told = line.partition(" = ")
            if key in ("dtype", "shape"):
                yield told.partition("#")[0].strip().replace('"', "")

    def _plain_buffer(self, i: int) -> Iterator[str]:
        if self.trial and self.trial.made and self.trial.made.argument == i:
            yield from ('role = "in"', *self.trial.made.lines)
            return
        found, buffers = self.product, [launch.buffers[i] for launch in self.launches]
        matrices = {"A": found.a, "B": found.b, "D": found.d} if found else {}
        letter = next((name for name, operand in matrices.items() if operand.argument == i), "")
        if found and letter:
            role, initial = buffers[0].role, ""
            if letter == "D":
                letter, role = ("C", "inout") if found.c == i else ("D", "out")
                initial = "zero" if found.zeroed else ""
            yield f'role = "{role}"'
            yield from self._matrix(letter, matrices["D" if letter == "C" else letter], buffers)
            yield f'matrix = "{letter}"'
            if initial:
                yield f'initial = "{initial}"'
            return
        yield f'role = "{buffers[0].role}"'
        if found and found.residual == i:
            yield from self._matrix("C", Operand(i, self.arguments[i].dtype, found.d.order), buffers)
            return
        if found and found.c == i:
            declared = self.arguments[i].dtype
            dtype = found.d.dtype if found.d.dtype in readings(declared) else declared
            yield from self._matrix("C", Operand(i, dtype, found.d.order), buffers)
            yield 'matrix = "C"'
            return
        dtype = (
            found.kinds.get(i, "") if found else self._reference.dtypes.get(i, "") if self._reference else ""
        )
        dtype = dtype or self.arguments[i].dtype
        taken = "" if found else float_behind(dtype, self._all_read)
        why = f"  # {dtype} that the matrix instructions take for it" if taken else ""
        yield f'dtype = "{taken or dtype or "u8"}"' + (
            why if dtype else "  # FILL IN: the source does not say"
        )
        if found and i in found.shapes:
            extents = (one if one.isdigit() else quoted(one) for one in found.shapes[i])
            yield f"shape = [{', '.join(extents)}]"
            return
        if self.trial and i in self.trial.assumed.contents:
            says = self.trial.assumed.contents[i]
            why = "indices of what is stored, each once" if says == EACH_ONCE else "it says how much there is"
            yield f"values = {quoted(says)}  # {why}"
        if self.trial and i in self.trial.indices:
            yield f'values = "(i0 + {INDICES - 1}) % {INDICES}"  # indices: other extents are those of these'
        if self._reference and i in self._reference.shapes:
            shape = (expression(axis.expression) for axis in self._reference.shapes[i])
            yield f"shape = [{', '.join(shape)}]"
            return
        seen = [[buffer.size // _width(dtype) // max(1, buffer.groups) for buffer in buffers]]
        if buffers[0].groups:
            seen.insert(0, [buffer.groups for buffer in buffers])
        texts = [fit(one, self._stated()) for one in seen]
        shown = (expression(text) if text else str(one[0]) for text, one in zip(texts, seen, strict=True))
        if not any(seen[-1]):
            yield "shape = [1]  # it reads and writes none of it"
            return
        yield f"shape = [{', '.join(shown)}]" + ("" if all(texts) else "  # FILL IN: it varies")

    def _copies(self, name: str, size: Sizes) -> int:
        split = name == "D" and self.product is not None and self.product.split_k
        return size["splits"] if split else size.get("batch", 1)

    def _matrix(self, letter: str, operand: Operand, buffers: Sequence[SeenBuffer]) -> Iterator[str]:
        rows, columns = EXTENTS.get(letter, ("M", "N"))
        batch = [quoted(name) for name in ("batch", "splits") if name in self.sizes[0]]
        if letter in "AB" or not (self.product and self.product.split_k):
            batch = [name for name in batch if name != quoted("splits")]
        yield f'dtype = "{operand.dtype}"'
        plain = [self._extent_of(rows), self._extent_of(columns)]
        yield f"shape = [{', '.join([*batch, *plain])}]"
        if operand.order == "col":
            yield 'order = "col"'
        name = letter if letter in "AB" else "D"
        inner = columns if operand.order == "row" else rows
        lds = [
            leading(
                b.size // _width(operand.dtype),
                matrix_shape(name, size),
                operand.order,
                self._copies(name, size),
            )
            for b, size in zip(buffers, self.sizes, strict=True)
        ]
        if any(ld != size[inner] for ld, size in zip(lds, self.sizes, strict=True)) and None not in lds:
            text = fit([ld or 0 for ld in lds], self._stated())
            yield f"ld = {expression(text)}" if text else "# FILL IN: ld, elements from one row to the next"


def _integer(raw: bytes, dtype: str) -> int:
    return int.from_bytes(raw, "little", signed=dtype.startswith("i"))


def _width(dtype: str) -> int:
    return element_type(dtype).raw.itemsize if dtype else 1
