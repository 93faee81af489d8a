"""What a probe declares about itself: one .hip (or .cu) and one .toml beside it.

The .toml states the kernel's name ("mnemonic" where there is one for every matrix instruction), its
workgroup size ("block"), lanes of a wave ("wave"; 32 unless given), how the grid follows ("one"
workgroup, as many as the input's "waves" need, or as many as block "tiles" cover the output), the
block tile [M, N, K], which defines it understands, which matrix instruction it executes per dtype,
where each wave's tile begins ([wave_tile]), and its arguments in order. A shape names its axes;
each extent is a number or a symbol, which the inputs bind ("waves", "M"), the LDS scheme
("lds_dwords"), or the matrix instruction (see `symbols_of`). A register dump may declare what its
slots hold. A probe without a table of instructions executes any: what it must know of one it is
told by the define INSTRUCTION and others, see `_instruction_defines` in `run`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import lcm
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.arch import MatrixForm
from layoutprobe.assets import asset_dir
from layoutprobe.errors import UsageError
from layoutprobe.layouts.swizzle import per_chunk
from layoutprobe.probing._toml import Table

SLOT_NAMES = ("wave", "lane", "vgpr", "half")
"""What an expression about a register dump may speak of."""

INSTRUCTION = "INSTRUCTION"
"""The define of a probe that executes whatever matrix instruction it is told."""

_SYMBOLS = (
    "a_vgprs",
    "b_vgprs",
    "d_vgprs",
    "m",
    "n",
    "rows",
    "cols",
    "depth",
    "bits",
    "fields",
    "line_length",
    "a_depth",
    "line_vgprs",
)
_LINE_CHUNKS = 4
"""Chunks of 16 bytes, which LDS schemes keep together, in a line of the roundtrip."""

MNEMONIC = "mnemonic"
"""Stands for the name of the kernel where it is that of the matrix instruction."""

_GRIDS = ("one", "waves", "tiles")
_ROLES = ("in", "out", "size")
_DTYPES = ("u16", "u32", "i32", "f16", "f32", "element", "result")
_MATRICES = ("A", "B", "C", "D")
_LARGEST_EXTENT = 1 << 20
_WAVES = (32, 64)
_MOST_NAMED = 12
_SUFFIXES = (".hip", ".cu")


Extent = int | str


def symbols_of(form: MatrixForm, wave: int, waves: int) -> dict[Extent, int]:
    """What a matrix instruction says of extents, in a workgroup of so many waves.

    Its registers; rows and columns of what one wave multiplies, all blocks ("m", "n"), and of what all of them do
    ("rows", "cols"); k of a tile in LDS, at least two chunks ("depth"), and of A, which may be sparse ("a_depth");
    width of an element of A, elements of a VGPR or of the group of VGPRs that begins with one ("bits", "fields"), and
    of a line of the roundtrip ("line_length"), of which a lane reads half ("line_vgprs").
    """
    vgprs, (m, n, depth) = form.vgprs(wave), form.shape
    kept = 2 if form.sparse else 1
    depth = max(depth, kept * 2 * per_chunk(form.bits), 2 * per_chunk(form.b_bits))
    line = _LINE_CHUNKS * per_chunk(form.bits)
    return {
        **{f"{operand.lower()}_vgprs": vgprs[operand] for operand in "ABD"},
        "m": m * form.blocks,
        "n": n * form.blocks,
        "rows": m * form.blocks * waves,
        "cols": n * form.blocks * waves,
        "depth": depth,
        "a_depth": depth // kept,
        "bits": form.bits,
        "fields": lcm(form.bits, 32) // form.bits,
        "line_length": line,
        "line_vgprs": line // 2 * form.bits // 32,
    }


class ArgumentSpec(Struct, frozen=True):
    """One kernel argument.

    Attributes:
        name: as captures call it.
        role: "in" and "out" are buffers, "size" is an integer bound to the symbol of that name.
        dtype: element type, "u16", "u32", "i32", "f16" or "f32"; until `sized` also "element" and "result":
            bits as wide as an element of A and of D.
        matrix: the matrix whose elements it carries; "" for sizes, and for what is of no matrix.
        axes: names of the axes, in order.
        shape: extent of each axis, a number or a symbol.
        holds: (row, col) of the element that each 16-bit half of a register dump is declared to
            hold, as expressions over wave, lane, vgpr and half; ("", "") where nothing is.
    """

    name: str
    role: str
    dtype: str
    matrix: str
    axes: tuple[str, ...]
    shape: tuple[int | str, ...]
    holds: tuple[str, str] = ("", "")


class ProbeSpec(Struct, frozen=True):
    """A probe's declaration.

    Attributes:
        name: "operand", "gemm/standard"...
        source: the .hip or .cu file.
        include: directory that its #include lines are relative to.
        kernel: name of its kernel; MNEMONIC, until `sized`, where each matrix instruction has one.
        block: work-items of a workgroup.
        wave: lanes of a wave.
        grid: "one", "waves" or "tiles".
        extents: (M, N, K) of the block tile; 0 where the probe has no such extent.
        defines: names of the preprocessor defines that it understands.
        define_values: define -> dtype -> value.
        instructions: dtype -> mnemonic of the matrix instruction; empty where it has none, or takes any.
        steps: matrix -> (row, col) step from one wave's tile to the next.
        arguments: in order.
    """

    name: str
    source: Path
    include: Path
    kernel: str
    block: int
    wave: int
    grid: str
    extents: tuple[Extent, Extent, Extent]
    defines: tuple[str, ...]
    define_values: Mapping[str, Mapping[str, int]]
    instructions: Mapping[str, str]
    steps: Mapping[str, tuple[Extent, Extent]]
    arguments: tuple[ArgumentSpec, ...]

    @property
    def waves_per_group(self) -> int:
        """Waves of one workgroup."""
        return self.block // self.wave

    @property
    def tile(self) -> tuple[int, int, int]:
        """(M, N, K) of the block tile, once `sized`."""
        m, n, k = (int(extent) for extent in self.extents)
        return m, n, k

    def wave_tile(self, matrix: str) -> tuple[int, int]:
        """(row, col) step of a matrix from one wave's tile to the next, once `sized`."""
        row, col = (int(extent) for extent in self.steps[matrix])
        return row, col

    def sized(self, instruction: MatrixForm | None) -> ProbeSpec:
        """The same with what the matrix instruction gives: extents, and the name of its kernel.

        As it is where there is no instruction.
        """
        if instruction is None:
            return self
        known = symbols_of(instruction, self.wave, self.waves_per_group)
        m, n, k = (known.get(extent, extent) for extent in self.extents)
        arguments = (
            replace(
                a,
                dtype=_sized_type(a, instruction),
                shape=tuple(known.get(extent, extent) for extent in a.shape),
                holds=_told(a.holds, known),
            )
            for a in self.arguments
        )
        return replace(
            self,
            kernel=instruction.name if self.kernel == MNEMONIC else self.kernel,
            extents=(m, n, k),
            steps={
                matrix: (known.get(row, row), known.get(col, col))
                for matrix, (row, col) in self.steps.items()
            },
            arguments=tuple(arguments),
        )

    def argument(self, name: str) -> ArgumentSpec:
        """The argument of that name.

        Raises:
            UsageError: the probe has none: a replacement of a shipped probe must keep its arguments.
        """
        for argument in self.arguments:
            if argument.name == name:
                return argument
        raise UsageError(
            f"the {self.name} probe has no argument {name!r}",
            where={"file": self.source.with_suffix(".toml")},
            observed=", ".join(a.name for a in self.arguments),
        )

    def instruction(self, dtype: str) -> str:
        """Mnemonic of the matrix instruction for a dtype.

        Raises:
            UsageError: the probe has none for it.
        """
        if dtype in self.instructions:
            return self.instructions[dtype]
        raise UsageError(
            f"the {self.name} probe has no matrix instruction for dtype {dtype!r}",
            where={"file": self.source.with_suffix(".toml")},
            expected="one of " + ", ".join(self.instructions),
        )


def _sized_type(argument: ArgumentSpec, instruction: MatrixForm) -> str:
    """The element type of an argument, whose width the instruction may give."""
    if argument.dtype == "element":
        return f"u{instruction.element_bits(argument.matrix)}"
    return f"u{instruction.result_bits}" if argument.dtype == "result" else argument.dtype


def _told(holds: tuple[str, str], known: Mapping[Extent, int]) -> tuple[str, str]:
    """Expressions with numbers in place of what the instruction says."""
    row, col = (re.sub(r"[a-z]\w*", lambda word: str(known.get(word[0], word[0])), text) for text in holds)
    return row, col


def _names_near(root: Path) -> list[str]:
    """Some probes of a directory, for a message: it may be any directory, and a large one."""
    found = sorted({path.with_suffix("").relative_to(root).as_posix() for path in root.glob("*.hip")})
    return found[:_MOST_NAMED]


def load_spec(name: str, directory: Path | None = None) -> ProbeSpec:
    """The spec of one probe.

    Args:
        name: path below the directory without suffix, such as "operand" or "gemm/standard".
        directory: where to look; the shipped probes where None.

    Raises:
        UsageError: no such probe, or a spec that does not hold; names file and key.
    """
    root = directory or asset_dir("probes")
    path = root / f"{name}.toml"
    if not re.fullmatch(r"\w+(/\w+)*", name) or not path.is_file():
        names = [known for known in _names_near(root) if known != name]
        raise UsageError(
            f"no probe named {name!r}",
            where={"directory": str(root)[:200]},
            expected="one of " + ", ".join(names) if names else f"{name}.toml, and {name}.hip beside it",
        )
    table = Table.load(path)
    source = next((s for s in map(path.with_suffix, _SUFFIXES) if s.is_file()), None)
    if source is None:
        raise UsageError(
            "a probe's spec has no source beside it", where={"file": path.with_suffix(_SUFFIXES[0])}
        )
    spec = _read(table, name, source, root)
    table.finish()
    return spec


def _read(table: Table, name: str, source: Path, include: Path) -> ProbeSpec:
    wave = table.integer("wave", 32, 64) if table.has("wave") else 32
    if wave not in _WAVES:
        table.fail("wave", "32 or 64")
    block = table.integer("block", wave, 1024)
    if block % wave:
        table.fail("block", f"a multiple of {wave}")
    defines = table.names("defines")
    instructions = _by_dtype(table.table("instruction"))
    symbols = _SYMBOLS if instructions or INSTRUCTION in defines else ()
    m, n, k = _extents(table, "tile", 3, symbols)
    arguments = tuple(_argument(t) for t in table.tables("argument", least=1))
    if len({a.name for a in arguments}) != len(arguments):
        table.fail("argument", "every name once")
    grid = table.choice("grid", _GRIDS)
    _check_symbols(table, grid, {*defines, *symbols}, arguments)
    return ProbeSpec(
        name=name,
        source=source,
        include=include,
        kernel=table.identifier("kernel"),
        block=block,
        wave=wave,
        grid=grid,
        extents=(m, n, k),
        defines=defines,
        define_values=_define_values(table.table("define"), defines),
        instructions=instructions,
        steps=_steps(table.table("wave_tile"), symbols),
        arguments=arguments,
    )


def _check_symbols(table: Table, grid: str, known: set[str], arguments: tuple[ArgumentSpec, ...]) -> None:
    """Every symbol must get its value from the shape of an input, the LDS scheme, or the instruction."""
    bound = known | {extent for a in arguments if a.role == "in" for extent in a.shape}
    if "LDS_SCHEME" in known:
        bound.add("lds_dwords")
    missing = {"one": set(), "waves": {"waves"}, "tiles": {"M", "N"}}[grid] - bound
    if missing:
        table.fail("grid", f"an input whose shape has {' and '.join(sorted(missing))}")
    for i, argument in enumerate(arguments):
        used = (argument.name,) if argument.role == "size" else argument.shape
        for extent in used:
            if isinstance(extent, str) and extent not in bound:
                table.fail("argument", f"in argument[{i}] no extent {extent!r}: no input has it")


def _argument(table: Table) -> ArgumentSpec:
    role = table.choice("role", _ROLES)
    dtype = table.choice("dtype", _DTYPES)
    sized = role == "size"
    axes = () if sized else table.names("axes")
    shape = () if sized else _shape(table)
    if len(axes) != len(shape):
        table.fail("axes", f"{len(shape)} names, as many as shape has extents")
    if sized and dtype != "i32":
        table.fail("dtype", "i32 for a size")
    matrix = "" if sized else table.choice("matrix", _MATRICES, "")
    argument = ArgumentSpec(
        table.identifier("name"), role, dtype, matrix, axes, shape, _holds(table.table("holds"))
    )
    table.finish()
    return argument


def _holds(table: Table) -> tuple[str, str]:
    row, col = (table.expression(key, (*SLOT_NAMES, *_SYMBOLS)) for key in ("row", "col"))
    if bool(row) != bool(col):
        table.fail("col" if row else "row", "an expression, as for the other coordinate")
    table.finish()
    return row, col


def _shape(table: Table) -> tuple[int | str, ...]:
    extents = table.get("shape")
    if not isinstance(extents, list) or not 1 <= len(extents) <= 4:
        table.fail("shape", "a list of 1 to 4 extents")
    for extent in extents:
        number = type(extent) is int and 1 <= extent <= _LARGEST_EXTENT
        symbol = isinstance(extent, str) and extent.isidentifier()
        if not number and not symbol:
            table.fail("shape", f"numbers from 1 to {_LARGEST_EXTENT}, or names")
    return tuple(extents)


def _by_dtype(table: Table) -> dict[str, str]:
    result = {dtype: table.mnemonic(dtype) for dtype in table}
    table.finish()
    return result


def _define_values(table: Table, defines: tuple[str, ...]) -> dict[str, dict[str, int]]:
    result = {}
    for define in table:
        if define not in defines:
            table.fail(define, "a define that `defines` lists")
        values = table.table(define)
        result[define] = {dtype: values.integer(dtype, 0, 1 << 30) for dtype in values}
    table.finish()
    return result


def _extents(table: Table, key: str, count: int, symbols: tuple[str, ...]) -> tuple[Extent, ...]:
    """So many numbers up to 4096, or symbols."""
    extents = table.get(key)
    good = isinstance(extents, list) and len(extents) == count
    for extent in extents if good else ():
        good = good and ((type(extent) is int and 0 <= extent <= 4096) or extent in symbols)
    if not good:
        table.fail(
            key, f"{count} numbers from 0 to 4096" + (f", or of {', '.join(symbols)}" if symbols else "")
        )
    return tuple(extents)


def _steps(table: Table, symbols: tuple[str, ...]) -> dict[str, tuple[Extent, Extent]]:
    result = {}
    for matrix in table:
        if matrix not in _MATRICES:
            table.fail(matrix, "one of " + ", ".join(_MATRICES))
        row, col = _extents(table, matrix, 2, symbols)
        result[matrix] = (row, col)
    table.finish()
    return result
