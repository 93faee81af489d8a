"""A kernel that is run on the emulator as its host code would launch it, at sizes of our choice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.codeobj.parameters import Parameter
from layoutprobe.drafting.allowance import Allowance
from layoutprobe.drafting.assumed import DEEP, NOTHING, Assumed
from layoutprobe.drafting.bits import types_read
from layoutprobe.drafting.launch_sites import LaunchSite, renamed
from layoutprobe.drafting.made_up import BYTES, codes, elements
from layoutprobe.drafting.outcome import Trial
from layoutprobe.drafting.products import FoundProduct, find_product, holds, readings
from layoutprobe.drafting.seen import SeenBuffer, SeenLaunch
from layoutprobe.drafting.strides_told import as_stored, small_of, usual_number, whole_of, with_strides
from layoutprobe.drafting.touching import follows, touches
from layoutprobe.engine.choice import NUMPY
from layoutprobe.engine.registry import make_engine
from layoutprobe.errors import ProbeError
from layoutprobe.manifest.model import Sizes
from layoutprobe.numbers import element_type
from layoutprobe.observe.touched import Touched
from layoutprobe.patterns.expression import evaluate, parse

_PARTS = tuple(range(0, BYTES, BYTES // 16))
"""To which pointers lead that lie in memory themselves."""
_BUDGET = 200_000
_MOST_WORK = 30_000_000
"""Instructions that all launches of a kernel may take together: a draft is waited for. How they are counted: see
`Allowance`."""
_LARGEST_STEP = 512
_STRETCHED = 256
_GREAT_WORK = 1_000_000
_SHALLOW = 4
_CYCLES = ((2, 1, 3, 1, 2, 1), (1, 3, 2, 2, 3, 1), (3, 4, 5, 2, 1, 2))
"""Of the first sizes in each launch: no two sizes, and no two products of some, grow alike."""
_LAUNCHES = 3
_MOST_WAYS = 4
_MOST_GROUPS = 512
_FACTORS = {"alpha": 2.0, "beta": 0.5}
_FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
_ODD = 5
"""Added to a size, it is no multiple of anything."""
_FINEST = (1, 8, 16, 32)
"""Multiples of an extent that a kernel may rely on, the finest first."""


class Attempt:
    """A kernel that is launched at sizes of our choice."""

    def __init__(
        self,
        code: CodeObject,
        kernel: Kernel,
        parameters: Sequence[Parameter],
        site: LaunchSite,
        assumed: Assumed = NOTHING,
        allowance: Allowance | None = None,
    ) -> None:
        given = kernel.explicit_args
        if not len(given) == len(parameters) == len(site.arguments):
            raise ValueError("the launch has other arguments")
        self.code, self.kernel, self.parameters = code, kernel, parameters
        self.assumed = assumed
        self.given = site
        self.site = site = with_strides(site, parameters) if assumed.named else site
        self.pointers = [i for i, one in enumerate(given) if one.kind == "global_buffer"]
        self.tables = [i for i in self.pointers if parameters[i].pointers]
        self.integers = [
            i for i, one in enumerate(parameters) if i not in self.pointers and one.dtype[:1] in ("i", "u")
        ]
        texts = (*site.grid, *site.block, site.dynamic_lds, *(site.arguments[i] for i in self.integers))
        self.names = tuple(n for n in site.names if any(re.search(rf"\b{n}\b", text) for text in texts))
        self.steps = {name: self._step(name) for name in self.names}
        named = {name: whole for name in self.names if (whole := whole_of(name, self.names))}
        self.shared = {**named, **assumed.shared}
        self.small = small_of(self.names)
        self.steps.update(dict.fromkeys((*self.shared, *self.shared.values(), *self.small), 1))
        # Where each lane has an element of its own, lanes beyond an edge leave registers undefined in part: C leaves
        # what reads these to numpy, wave by wave.
        engine = None if types_read(code, kernel) else make_engine(NUMPY)
        self.backend = EmulatorBackend(budget=_BUDGET, engine=engine)
        self._allowance = allowance or Allowance(_MOST_WORK)
        self._works: list[int] = []  # of what `launches` made, in order

    def again(self, site: LaunchSite, assumed: Assumed) -> Attempt:
        """With more that is assumed; what it does counts together."""
        return Attempt(self.code, self.kernel, self.parameters, site, assumed, self._allowance)

    @property
    def left(self) -> int:
        """Of what launches may do."""
        return self._allowance.left

    @property
    def where(self) -> tuple[str, ...]:
        """What holds of the sizes that are tried."""
        return tuple(f"{whole} % {name} == 0" for name, whole in self.shared.items())

    @property
    def late(self) -> bool:
        """Whether to give up: a draft is waited for."""
        return self._allowance.left < 0

    def _numbers(
        self, texts: Sequence[str], size: Mapping[str, NDArray[np.int64] | int]
    ) -> list[NDArray[np.int64]]:
        named = {name: np.asarray(size[name], np.int64) for name in self.names}
        return [np.asarray(evaluate(parse(text or "1", self.names), named)) for text in texts]

    def _step(self, name: str) -> int:
        """The extent with which one workgroup has all of its work; 0 where it makes no more workgroups."""
        tried = np.arange(1, _LARGEST_STEP + 2)
        axes = self._numbers(self.site.grid, {**dict.fromkeys(self.names, 64), name: tried})
        counts = np.broadcast_to(prod(axes), tried.shape)
        if counts[0] == 0:
            return int(tried[np.argmax(counts > 0)]) if counts.any() else 0
        more = np.flatnonzero(counts[1:] > counts[:-1])
        return int(tried[more[0]]) if more.size else 0

    def size(self, at: int, least: int) -> Sizes:
        """Sizes that differ from each other, and from those of other launches; what a small step gives is a multiple
        of at least so much, as groups of elements have one scale. 0: small ones, where workgroups are for a product
        of many."""
        result: dict[str, int] = {}
        narrow = {i for i in self.integers if self.kernel.explicit_args[i].size == 1}
        flags = {self.site.arguments[i] for i in narrow}
        for number, name in enumerate(self.names):
            step = self.steps[name]
            if name in flags:
                result[name] = 1
                continue
            few = step == 1
            unit = -(-least // step) * step if step else self.assumed.deep
            unit = 1 if few else unit if least else _SHALLOW
            value = unit * (_CYCLES[at][number % len(_CYCLES[at])] + few)
            while value in result.values() and not few:
                value += unit
            result[name] = value
        result.update(self.small)
        for name, whole in self.shared.items():
            seen = name in self.assumed.shared
            result[name] = (_CYCLES[at][0] + seen) * self.assumed.unit
            times = 2 + at % 2
            while seen and result[name] * times in (v for one, v in result.items() if one != whole):
                times += 1  # sizes that are equal in every launch could not be told apart
            result[whole] = result[name] * times
        return result

    def launches(self, kinds: Mapping[int, str]) -> tuple[list[SeenLaunch], list[Sizes]]:
        """Some that come to their end, and their sizes; none where one does not."""
        for least in (DEEP, 1, 0):
            seen: list[SeenLaunch] = []
            values = [self.size(at, least) for at in range(_LAUNCHES)]
            works = self._works = []
            for size in values:
                left = self._allowance.left
                one = None if self.late else self.run(size, kinds)
                if one is None:
                    break
                seen.append(one)
                works.append(left - self._allowance.left)
            else:
                return seen, values
        return [], []

    def ways(self) -> Iterator[Mapping[int, str]]:
        """What the elements that pointers lead to may be: types that the source leaves open, alike for all."""
        declared = {i: self.parameters[i].dtype for i in self.pointers}
        kinds = list(dict.fromkeys(declared.values()))
        for number, chosen in enumerate(product(*(readings(kind) for kind in kinds))):
            if number == _MOST_WAYS:
                return
            yield {i: dict(zip(kinds, chosen, strict=True))[kind] for i, kind in declared.items()}

    def stretched(
        self, launches: Sequence[SeenLaunch], values: Sequence[Sizes], kinds: Mapping[int, str]
    ) -> list[tuple[SeenLaunch, Sizes]]:
        """A launch for each size, in which it is larger than the blocks are that often share a number: where all are
        smaller than one, their count is no matter of sizes. Those that expressions of the sizes fit, and that are
        no great work."""
        found: list[tuple[SeenLaunch, Sizes]] = []
        for name, value in values[0].items():
            work = self._works[0] * (_STRETCHED + value) // value
            if self.steps[name] == 1 or value == 1 or work > _GREAT_WORK or self.late:
                continue
            sizes = {**values[0], name: _STRETCHED + value}
            seen = self.run(sizes, kinds)
            so_far = [*launches, *(one for one, _ in found)], [*values, *(size for _, size in found)]
            if seen and touches(*so_far, seen, sizes, kinds):
                found.append((seen, sizes))
        return found

    def ragged(
        self, launches: Sequence[SeenLaunch], values: Sequence[Sizes], kinds: Mapping[int, str]
    ) -> tuple[list[tuple[SeenLaunch, Sizes]], Sizes]:
        """A launch at sizes that are no multiples of a step, where the kernel touches what follows from these as
        before; and of which multiples each size has to be for that."""
        relied: dict[str, int] = {}
        sizes, large = dict(values[0]), values[_LAUNCHES - 1]  # in a small one there may be one row of groups
        for name, value in large.items():
            step = self.steps[name] or self.assumed.deep
            if step == 1 or value == 1:
                continue
            for by in (one for one in (*_FINEST, *self.assumed.finer) if one < step):
                more = by if by > 1 else _ODD
                ragged = {**large, name: value + more}
                seen = self.run(ragged, kinds)
                if seen and follows(launches, values, seen, ragged, kinds):
                    sizes[name] += more
                    relied.update({name: by} if by > 1 else {})
                    break
            else:
                relied[name] = step
        seen = self.run(sizes, kinds) if sizes != values[0] and not self.late else None
        kept = seen is not None and follows(launches, values, seen, sizes, kinds)
        return ([(seen, sizes)], relied) if kept and seen else ([], relied)

    def indices(self, usual: SeenLaunch, size: Sizes, kinds: Mapping[int, str]) -> frozenset[int]:
        """Inputs of integers that are addresses: with zeros in one, other buffers are touched less far."""
        found = set()
        for i, kind in kinds.items():
            if (
                kind[:1] not in ("i", "u")
                or kind in ("i8", "u8")
                or usual.buffers[i].role != "in"
                or i in self.assumed.contents
                or self.late
            ):
                continue
            seen = self.run(size, kinds, {i: np.zeros(BYTES, np.uint8)})
            if seen is not None and any(
                seen.buffers[j].size < usual.buffers[j].size for j in kinds if j != i
            ):
                found.add(i)
        return frozenset(found)

    def filled(
        self,
        launches: Sequence[SeenLaunch],
        values: Sequence[Sizes],
        kinds: Mapping[int, str],
        indices: frozenset[int],
    ) -> list[tuple[SeenLaunch, Sizes]]:
        """A launch in which inputs of integers that are no indices have all their bits, as codes of four or eight
        have; none where there are no such inputs, or the kernel does not bear it."""
        random = np.random.default_rng(0)
        given = {
            i: codes(random)
            for i, kind in kinds.items()
            if kind[:1] in ("i", "u")
            and launches[0].buffers[i].role == "in"
            and i not in (*indices, *self.assumed.contents)
        }
        seen = self.run(values[0], kinds, given) if given and not self.late else None
        kept = seen is not None and follows(launches, values, seen, values[0], kinds)
        return [(seen, values[0])] if kept and seen else []

    def run(
        self, size: Sizes, kinds: Mapping[int, str], given: Mapping[int, NDArray[np.uint8]] | None = None
    ) -> SeenLaunch | None:
        """The launch at these sizes, with what buffers begin with where given; None where it cannot be made, or
        faults."""
        random = np.random.default_rng(sum(size.values()))
        before = {i: elements(kind, random) for i, kind in kinds.items()}
        told = {i: self._contents(i, kinds[i], size) for i in self.assumed.contents}
        for i, data in {**told, **(given or {})}.items():
            before[i][: data.size] = data
        touched = Touched({self.pointers.index(i): _PARTS for i in self.tables})
        try:
            grid, block = (
                tuple(int(n) for n in self._numbers(t, size)) for t in (self.site.grid, self.site.block)
            )
            if not all((*grid, *block)) or prod(grid) > _MOST_GROUPS:
                return None
            (lds,) = (int(n) for n in self._numbers((self.site.dynamic_lds,), size))
            values = [b"" if i in before else self._value(i, size) for i in range(len(self.parameters))]
            launch = Launch(
                self.code, self.kernel.name, grid, block,  # type: ignore[arg-type]  # three of each
                [self._given(before[i], i) if i in before else np.void(v) for i, v in enumerate(values)], lds,
            )  # fmt: skip
            result = self.backend.run(launch, (touched, self._allowance))
        except ProbeError:
            return None
        return self._seen(launch, values, result.buffers, touched)

    def _seen(
        self,
        launch: Launch,
        values: Sequence[bytes],
        after: Sequence[NDArray[np.uint8] | None],
        touched: Touched,
    ) -> SeenLaunch:
        starts = dict(zip(self.pointers, touched.order(len(self.pointers)), strict=True))
        buffers = {}
        for i, start in starts.items():
            kept, given = after[i], launch.args[i]
            assert isinstance(given, Buffer)
            assert kept is not None
            parts = [at for at in given.pointers or (0,) if start + at in touched.ends]
            size = max((touched.ends[start + at] - start - at for at in parts), default=0)
            places = {start + at for at in parts}
            before, then = (
                np.concatenate([data[at : at + size] for at in parts or (0,)]) for data in (given.data, kept)
            )
            groups = len(parts) if given.pointers else 0
            buffers[i] = SeenBuffer(
                before.size,
                bool(places & touched.loaded),
                bool(places & touched.stored),
                before,
                then,
                True,
                groups,
            )
        return SeenLaunch(
            self.code, self.kernel, launch.grid, launch.block, launch.dynamic_lds, values, buffers
        )

    def _contents(self, i: int, kind: str, size: Sizes) -> NDArray[np.uint8]:
        """What a buffer is assumed to begin with."""
        element = element_type(kind)
        named = {name: np.asarray(value, np.int64) for name, value in size.items()}
        named["i0"] = np.arange(BYTES // element.storage.itemsize)
        found = evaluate(parse(self.assumed.contents[i], tuple(named)), named)
        return np.ascontiguousarray(element.store(np.broadcast_to(found, named["i0"].shape))).view(np.uint8)

    def _given(self, data: NDArray[np.uint8], i: int) -> Buffer:
        """A buffer, or pointers into it."""
        return Buffer(data, pointers=_PARTS if i in self.tables else ())

    def _value(self, i: int, size: Sizes) -> bytes:
        """The bytes of an argument that is no pointer.

        Raises:
            ProbeError, ValueError: it is no number.
        """
        one, bytes_ = self.parameters[i], self.kernel.explicit_args[i].size
        if one.dtype in _FLOATS:
            # What is multiplied by 0 is not seen.
            factor = _FACTORS.get(one.name.lower()) or self.site.number(i) or usual_number(one.name)
            return np.array(factor, _FLOATS[one.dtype]).tobytes()
        (value,) = self._numbers((self.site.arguments[i],), size)
        return (int(value) % (1 << 8 * bytes_)).to_bytes(bytes_, "little")

    # Products

    def product(self, launches: Sequence[SeenLaunch], values: Sequence[Sizes]) -> FoundProduct | None:
        """The product in the data of launches."""
        integers = {
            i: [int(self._numbers((self.site.arguments[i],), size)[0]) for size in values]
            for i in self.integers
        }
        return find_product(launches, [p.name for p in self.parameters], self._dtypes(), integers)

    def stored_so(self, found: FoundProduct) -> bool:
        """Have the leading dimensions follow from the order of a product; whether they are others now."""
        before, self.site = self.site, as_stored(self.site, self.parameters, found)
        return self.site != before

    def _dtypes(self) -> list[str]:
        return [one.dtype for one in self.parameters]

    def finished(
        self,
        launches: Sequence[SeenLaunch],
        values: Sequence[Sizes],
        found: FoundProduct,
        kinds: Mapping[int, str],
    ) -> Trial:
        """With the tile, and what the kernel relies on, where each size of the product is one of the launch."""
        varying = [name for name in found.sizes[0] if any(one[name] > 1 for one in found.sizes)]
        names = {size: self._called([one[size] for one in found.sizes], values) for size in varying}
        site = renamed(self.site, {name: size for size, name in names.items() if name})
        if "" in names.values():
            return Trial(tuple(launches), found, tuple(values), site, assumed=self.assumed)
        multiple, tile = {}, {}
        for size, name in names.items():
            step = self.steps[name]
            tile[size] = step or 16
            if step == 1:
                tile[size] = 2
                continue
            for by in dict.fromkeys((*(one for one in _FINEST if one < (step or 2 * DEEP)), step or DEEP)):
                ragged = {**values[0], name: values[0][name] + by}
                seen = self.run(ragged, kinds)
                if seen and holds(seen, {**found.sizes[0], size: ragged[name]}, self._dtypes(), found):
                    multiple[size] = by
                    break
            else:
                multiple[size] = step or DEEP
            tile[size] = max(tile[size], multiple[size])
        relied = {size: by for size, by in multiple.items() if by > 1}
        return Trial(tuple(launches), found, tuple(values), site, tile, relied, assumed=self.assumed)

    def _called(self, extents: Sequence[int], values: Sequence[Sizes]) -> str:
        """The name in the launch that had these values; "" where none had."""
        return next((n for n in self.names if [size[n] for size in values] == list(extents)), "")
