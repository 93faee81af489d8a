"""TTGIR, the IR of Triton in which layouts stand: which layouts a kernel declares for its products of tiles.

Read are the definitions of layouts, the attributes of the module, `tt.dot` and `tt.dot_scaled`, and the loads from
LDS that bring their operands. All else is passed over. What is read and not understood is refused with its line: a
layout that is taken for another one would be worse.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from msgspec import Struct

from layoutprobe.claims.mlir import Attribute, Cursor, Tensor
from layoutprobe.claims.sources import Sources, values_of
from layoutprobe.errors import UsageError
from layoutprobe.layouts.declared import (
    COPIED_K,
    LANES,
    SHARED_K,
    Declared,
    DeclaredDot,
    MatrixUnit,
    Shape,
    Shared,
)
from layoutprobe.layouts.gf2 import Vector
from layoutprobe.reading import read_bounded
from layoutprobe.text import beginning

MAX_BYTES = 4 << 20
MAX_DOTS = 64
MAX_ALIASES = 1024
MAX_EXTENT = 4096
MAX_ELEMENTS = 1 << 18
"""Of a tile: no workgroup holds more."""
MAX_WAVES = 32
_LOADS = ("ttg.local_load ",)
_SWIZZLES = ("swizzled_shared", "amd_rotating_shared")


def read_ttgir(path: Path) -> Declared:
    """What a file declares.

    Raises:
        UsageError: it cannot be read, is too large, or says what is not understood.
    """
    try:
        text = read_bounded(path, "TTGIR", MAX_BYTES).decode()
    except UnicodeDecodeError:
        raise UsageError("the TTGIR is not UTF-8 text", where={"file": path}) from None
    return parse_ttgir(text, path.name)


def parse_ttgir(text: str, file: str) -> Declared:
    """What a text declares; `file` is its name in messages.

    Raises:
        UsageError: as `read_ttgir`.
    """
    return _Reader(file).read(text)


class _Reader:
    """One text, line by line."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._aliases: dict[str, tuple[Attribute, Cursor]] = {}
        self._module: tuple[str, int, int] | None = None
        self._dots: list[tuple[Cursor, tuple[Tensor, Tensor, Tensor]]] = []
        self._loads: list[tuple[Cursor, Tensor, Tensor]] = []
        self._sources = Sources()

    def read(self, text: str) -> Declared:
        for number, line in enumerate(text.splitlines(), 1):
            self._line(Cursor(line, self.file, number))
        if self._module is None or not self._dots:
            raise self._nothing(text)
        target, waves, lanes = self._module
        dots = tuple(self._dot(at, types, lanes, waves) for at, types in self._dots)
        return Declared(self.file, target, waves, dots)

    def _nothing(self, text: str) -> UsageError:
        """It declares nothing: it is something else, or cut off, or the kernel multiplies no tiles."""
        if self._module is None:
            what, observed = "no `module attributes`", beginning(text.encode())
            hint = "give the .ttgir that Triton leaves in its cache (TRITON_CACHE_DIR) for the kernel"
        elif "tt.return" not in text:
            what, observed = "no `tt.dot`", "no `tt.return`: the file is cut off"
            hint = "give the whole .ttgir as Triton wrote it"
        else:
            what, observed = "no `tt.dot`", None
            hint = (
                "kernels without tt.dot declare no layout of a matrix instruction: nothing is to be compared"
            )
        return UsageError(
            f"the TTGIR has {what}",
            where={"file": self.file},
            expected="the TTGIR of one kernel for an AMD target that multiplies tiles",
            observed=observed,
            hint=hint,
        )

    def _line(self, at: Cursor) -> None:
        text = at.text
        self._sources.line(text)
        if text.startswith("#"):
            self._alias(at)
        elif text.startswith("module"):
            self._attributes(at)
        elif (found := _behind(text, ("tt.dot ", "tt.dot_scaled "))) is not None:
            if len(self._dots) == MAX_DOTS:
                at.fail(f"at most {MAX_DOTS} products")
            self._dots.append((at, self._types(at, found)))
        elif (found := _behind(text, _LOADS)) is not None:
            self._load(at, found)

    def _alias(self, at: Cursor) -> None:
        """`#mma = #ttg.amd_mfma<{...}>`; those that no product names are passed over."""
        at.need("#")
        name = at.name()
        at.need("=")
        at.skip()
        if name.startswith("loc") or not at.text.startswith("#", at.at):
            return
        if name in self._aliases or len(self._aliases) == MAX_ALIASES:
            at.fail(f"at most {MAX_ALIASES} layouts, each name once")
        begin = at.at
        self._aliases[name] = (at.attribute(), Cursor(at.text, self.file, at.line, begin))

    def _attributes(self, at: Cursor) -> None:
        at.need("module")
        at.need("attributes")
        found = at.entries()
        target = found.get("ttg.target")
        if not isinstance(target, str) or not target.startswith("hip:"):
            at.fail('ttg.target = "hip:..."', "the TTGIR is for no AMD target")
        if found.get("ttg.num-ctas") != 1:
            at.fail('"ttg.num-ctas" = 1', "the TTGIR is for clusters of workgroups, which are not compared")
        waves, lanes = (found.get(f"ttg.{key}") for key in ("num-warps", "threads-per-warp"))
        if not _power(waves, MAX_WAVES) or not _power(lanes, 64):
            at.fail(f'"ttg.num-warps" up to {MAX_WAVES} and "ttg.threads-per-warp" of 32 or 64')
        assert isinstance(waves, int)
        assert isinstance(lanes, int)
        if self._module is not None:
            at.fail("one module")
        self._module = (target.removeprefix("hip:"), waves, lanes)

    def _types(self, at: Cursor, begin: int) -> tuple[Tensor, Tensor, Tensor]:
        """The types of a product: left, right, and result."""
        at.at = at.text.find(" : tensor<", begin) + 2
        if at.at < 2:
            at.at = begin
            at.fail("a product of tensors: ` : tensor<...> * tensor<...> -> tensor<...>`")
        left = at.tensor()
        if at.sees(","):
            at.fail("`*`", "a product with scales is not compared")
        at.need("*")
        right = at.tensor()
        if at.sees(","):
            at.fail("`->`", "a product with scales is not compared")
        at.need("->")
        return left, right, at.tensor()

    def _load(self, at: Cursor, begin: int) -> None:
        """A load of a tile from LDS; only those of operands count."""
        at.at = at.text.find(" : !ttg.memdesc<", begin) + 2
        if at.at < 2 or "#ttg.dot_op<" not in at.text:
            return
        memory = at.tensor("!ttg.memdesc<")
        at.need("->")
        self._loads.append((at, memory, at.tensor()))

    def _dot(self, at: Cursor, types: tuple[Tensor, Tensor, Tensor], lanes: int, waves: int) -> DeclaredDot:
        left, right, result = types
        if any(
            len(tensor.shape) != 2 or not all(_power(x, MAX_EXTENT) for x in tensor.shape) for tensor in types
        ):
            at.fail(
                f"tiles of two axes, powers of two up to {MAX_EXTENT}",
                "the shape of a product is not compared",
            )
        (m, k), (k2, n) = left.shape, right.shape
        if max(m * k, k * n, m * n) > MAX_ELEMENTS:
            at.fail(f"tiles of at most {MAX_ELEMENTS} elements", "the tiles of a product are too large")
        if k != k2 or result.shape != (m, n):
            at.fail(f"{m}x{k} times {k}xN, to {m}xN", "the tiles of a product do not fit")
        unit, place = self._unit(result.layout, at)
        if LANES[unit.kind] != lanes or 1 << len(unit.waves) != waves:
            place.fail(
                f"{waves} waves of {lanes} lanes, as the module says",
                f"a layout is for {1 << len(unit.waves)} waves of {LANES[unit.kind]} lanes",
            )
        widths = tuple(self._width(tensor, index, unit, at) for index, tensor in enumerate((left, right)))
        shared = tuple(tuple(dict.fromkeys(self._shared_of(tensor))) for tensor in (left, right))
        return DeclaredDot(
            at.line,
            unit,
            (m, n, k),
            (widths[0], widths[1]),
            (left.dtype, right.dtype),
            (shared[0], shared[1]),
            self._origins(at),
        )

    def _origins(self, at: Cursor) -> tuple[int | None, int | None]:
        """The pointers that the operands of a product come from."""
        found = [self._sources.pointers(name) for name in values_of(at.text)[:2]]
        left, right = (next(iter(each)) if len(each) == 1 else None for each in found)
        return left, right

    def _width(self, tensor: Tensor, index: int, unit: MatrixUnit, at: Cursor) -> int:
        found = _Entries(*self._resolved(tensor.layout, at), "ttg.dot_op")
        parent, opened = found.get("parent"), found.whole("opIdx", 1)
        width = found.power("kWidth", 64)
        found.finish()
        if unit.kind == "amd_wmma" and unit.version == COPIED_K and width not in (8, 16):
            found.at.fail("kWidth = 8 or 16", "Triton knows no such operand")
        if not isinstance(parent, Attribute) or opened != index:
            found.at.fail(f"opIdx = {index} and a parent")
        if self._unit(parent, at)[0] != unit:
            at.fail(
                "operands under the layout of the result", "an operand belongs to another matrix instruction"
            )
        return width

    def _shared_of(self, tensor: Tensor) -> Iterator[Shared]:
        """Where tiles of such an operand are loaded from."""
        for at, memory, loaded in self._loads:
            if loaded == tensor and memory.shape == tensor.shape:
                yield self._shared(memory.layout, at)

    def _resolved(self, attribute: Attribute, at: Cursor) -> tuple[Attribute, Cursor]:
        if attribute.whole:
            return attribute, at
        if attribute.name not in self._aliases:
            at.fail("a layout that is defined above", f"there is no layout #{attribute.name[:60]}")
        found, place = self._aliases[attribute.name]
        if not found.whole:
            place.fail("the layout itself, and no other name of it")
        return found, place

    def _unit(self, attribute: Attribute, at: Cursor) -> tuple[MatrixUnit, Cursor]:
        found, place = self._resolved(attribute, at)
        kind = found.name.removeprefix("ttg.")
        if kind not in LANES:
            place.fail(
                "#ttg.amd_mfma or #ttg.amd_wmma", "a product that no matrix instruction makes is not compared"
            )
        entries = _Entries(found, place, f"ttg.{kind}")
        unit = _mfma(entries) if kind == "amd_mfma" else _wmma(entries)
        entries.finish()
        return unit, place

    def _shared(self, attribute: Attribute, at: Cursor) -> Shared:
        found, place = self._resolved(attribute, at)
        kind = found.name.removeprefix("ttg.")
        entries = _Entries(found, place, found.name)
        if kind in _SWIZZLES:
            vec, phase, phases = (entries.power(key, MAX_EXTENT) for key in ("vec", "perPhase", "maxPhase"))
            order = entries.order()
            made = Shared(kind, order, vec, phase, phases)
        elif kind == "padded_shared":
            offsets = entries.vectors("offset", 24)
            if entries.vectors("block", 0):
                place.fail("block = []")
            made = Shared(kind, pads=found.pads, offsets=offsets)
        else:
            place.fail(
                "swizzled_shared, amd_rotating_shared or padded_shared", "a layout of LDS is not known"
            )
        entries.finish()
        return made


class _Entries(Struct, dict=True):
    """The entries of an attribute, each asked for once."""

    attribute: Attribute
    at: Cursor
    name: str

    def __post_init__(self) -> None:
        self._left = dict(self.attribute.entries)
        if self.attribute.name != self.name:
            self.at.fail(f"#{self.name}")

    def _refuse(self, key: str, expected: str) -> NoReturn:
        self.at.fail(f"{key} = {expected}", f"an entry of #{self.name} is not understood: {key}")

    def get(self, key: str, default: object = None) -> object:
        return self._left.pop(key, default)

    def whole(self, key: str, largest: int) -> int:
        value = self.get(key)
        if type(value) is not int or value > largest:
            self._refuse(key, f"a number up to {largest}")
        return value

    def power(self, key: str, largest: int, default: object = None) -> int:
        value = self.get(key, default)
        if not _power(value, largest):
            self._refuse(key, f"a power of two up to {largest}")
        assert isinstance(value, int)
        return value

    def flag(self, key: str) -> bool:
        value = self.get(key)
        if not isinstance(value, bool):
            self._refuse(key, "true or false")
        return value

    def numbers(self, key: str, count: int, default: list[int] | None = None) -> tuple[int, ...]:
        value = self.get(key, default)
        if (
            not isinstance(value, list)
            or len(value) != count
            or not all(_power(x, MAX_EXTENT) for x in value)
        ):
            self._refuse(key, f"{count} powers of two")
        return tuple(value)

    def order(self) -> Shape:
        value = self.get("order")
        if value not in ([0, 1], [1, 0]):
            self._refuse("order", "[0, 1] or [1, 0]")
        return (0, 1) if value == [0, 1] else (1, 0)

    def vectors(self, key: str, most: int) -> tuple[Vector, ...]:
        value = self.get(key, [])
        if not isinstance(value, list) or len(value) > most or not all(map(_pair, value)):
            self._refuse(key, f"at most {most} pairs of numbers, one of them 0")
        return tuple((r, c) for r, c in value)

    def table(self, key: str) -> _Entries:
        value = self.get(key, {})
        if not isinstance(value, dict):
            self._refuse(key, "{...}")
        return _Entries(Attribute(self.name, value, whole=True), self.at, self.name)

    def finish(self) -> None:
        for key in self._left:
            self._refuse(key[:40], "nothing: this entry is not known here")


def _mfma(entries: _Entries) -> MatrixUnit:
    version = entries.whole("version", 4)
    rows, cols = entries.numbers("warpsPerCTA", 2)
    m, n, k = entries.numbers("instrShape", 3)
    along, across = entries.numbers("tilesPerWarp", 2, [1, 1])
    transposed = entries.flag("isTransposed")
    if entries.get("elementBitWidth", 32) != 32 or (m, n) not in ((32, 32), (16, 16)):
        entries.at.fail(
            "instrShape of 32x32 or 16x16, elements of 32 bits", "a matrix instruction is not compared"
        )
    tiles = (*_units(1, 1, across), *_units(0, 1, along))
    waves = (*_units(1, across, across * cols), *_units(0, along, along * rows))
    return MatrixUnit("amd_mfma", version, (m, n, k), transposed, tiles, waves)


def _wmma(entries: _Entries) -> MatrixUnit:
    version = entries.whole("version", 3)
    m, n, k = entries.numbers("instrShape", 3, [16, 16, 16])
    transposed = entries.flag("isTranspose")
    if version not in (COPIED_K, SHARED_K) or (m, n) != (16, 16):
        entries.at.fail("version 1 or 2, and 16x16", "a matrix instruction is not compared")
    inner = entries.table("ctaLayout")
    tiles, waves = (inner.vectors(key, 8) for key in ("register", "warp"))
    inner.finish()
    for axis in (0, 1):
        steps = sorted(vector[axis] for vector in (*tiles, *waves) if vector[axis])
        if steps != [1 << bit for bit in range(len(steps))]:
            entries.at.fail("1, 2, 4... along each axis, each once", "a ctaLayout is not understood")
    return MatrixUnit("amd_wmma", version, (m, n, k), transposed, tiles, waves)


def _units(axis: int, begin: int, end: int) -> Iterator[Vector]:
    while begin < end:
        yield (begin, 0) if axis == 0 else (0, begin)
        begin *= 2


def _behind(text: str, words: tuple[str, ...]) -> int | None:
    """Where the text goes on behind one of these operations; None where it has none."""
    begin = 0 if not text.lstrip().startswith("%") else text.find("=") + 1
    rest = text[begin:].lstrip()
    word = next((word for word in words if rest.startswith(word)), None)
    return None if word is None else len(text) - len(rest) + len(word)


def _power(value: object, largest: int) -> bool:
    return type(value) is int and 0 < value <= largest and value & (value - 1) == 0


def _pair(value: object) -> bool:
    """[row, col], a power of two along one axis."""
    if not isinstance(value, list) or len(value) != 2 or not all(type(x) is int for x in value):
        return False
    return sorted(_power(x, MAX_EXTENT) for x in value) == [False, True] and 0 in value
