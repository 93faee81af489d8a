"""Templates of loads and stores: LDS, global, flat, buffer, scratch and scalar memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.engine.native.forms import Form
from layoutprobe.engine.native.template import HIGH_HALF, LOW_HALF, WHOLE, Layout, Line, Template, scalar_of
from layoutprobe.isa.inst import EXEC_LO, NULL, SCC, Inst, Operand
from layoutprobe.machine.memory import BASE_ADDRESS
from layoutprobe.semantics.access import OLD_NAMES, WIDTHS, Width, older_width
from layoutprobe.semantics.operands import constant_bits

_WHOLE = ("lds", "global", "flat")
"""Memories for which there is a way of their own for waves of which all lanes are active, and that nobody watches."""
_MOVES = 1 << 31
_BASE = -BASE_ADDRESS & 0xFFFF_FFFF_FFFF_FFFF


class Access(Struct, frozen=True):
    """A plain load or store, as its mnemonic says; `steps` are the units of the offsets of two places."""

    load: bool
    width: Width
    steps: tuple[int, ...] = ()

    def form(self, space: str, address: str = "") -> Form:
        """The function: that of c/memory.h and c/buffer.h for the memory, with what is known of the access.

        Args:
            space: "lds", "global", "flat", "buffer" or "scratch".
            address: of global memory and flat, what makes addresses.
        """
        half = {None: "PLAIN", 0: "LOW", 1: "HIGH"}[self.width.half]
        how = f"SIGNED | {half}" if self.width.signed else half
        where = f", {address}(w, i)" if address else ""
        count = f", {self.places}" if space == "lds" else ""
        verb = "load" if self.load else "store"
        call = f"{space}_{verb}(w, i, c{{}}{where}, {self.width.size}, {how}{count})"
        if space not in _WHOLE:
            return Form(f"if (unlikely(!{call.format('')})) STOP(SLOW);", (), ())
        text = f"if (unlikely(!UNWATCHED || !{call.format(', 1')})) TAIL REST(w, i, c);"
        return Form(text, (), (), f"if (unlikely(!{call.format(', 0')})) STOP(SLOW);")

    @property
    def places(self) -> int:
        """Addresses of a lane."""
        return max(len(self.steps), 1)

    @property
    def regs(self) -> int:
        """Data registers of one operand."""
        return (self.width.size + 3) // 4 * (self.places if self.load else 1)

    def data_of(self, inst: Inst, first: int) -> tuple[Operand, ...] | None:
        """Data operands; a store's begin with source `first`. None where they are no plain VGPRs."""
        data = inst.dst[:1] if self.load else inst.src[first : first + self.places]
        return data if all(o.kind == "v" and o.regs >= self.regs for o in data) else None

    def moved(self, data: tuple[Operand, ...]) -> tuple[tuple[Operand, ...], tuple[tuple[Operand, int], ...]]:
        """What of the data is read, and what is written and how."""
        if not self.load:
            high = bool(self.width.half)
            return tuple(replace(o, bits=16, hi=high) for o in data) if self.width.size < 4 else data, ()
        return (), ((data[0], {None: WHOLE, 0: LOW_HALF, 1: HIGH_HALF}[self.width.half]),)

    def line(self, layout: Layout) -> Line:
        """What a wave writes down of it."""
        return Line(self.width.size, not self.load, self.places, layout.lanes)


_Builder = Callable[[Inst, Access, Layout], Template | None]


def _lds(inst: Inst, access: Access, layout: Layout) -> Template | None:
    address, data = inst.src[0], access.data_of(inst, 1)
    if data is None or address.kind != "v":
        return None
    given = [inst.mods.get(name, 0) for name in ("offset0", "offset1")]
    offsets = [n * step for n, step in zip(given, access.steps, strict=True)] if access.steps else []
    reads, writes = access.moved(data)
    form = access.form("lds")
    how = access.width.signed | {None: 0, 0: 2, 1: 4}[access.width.half]
    return Template(
        form.symbol,
        (layout.offset(address), *(o.index for o in data)),
        tuple(offsets) or (given[0] | given[1] << 8,),
        (address, *reads),
        writes,
        form=form,
        line=access.line(layout),
        active=True,
        undefined=_MOVES | access.width.size | how << 8 | access.places << 12 | (not access.load) << 16,
    )


def _global(inst: Inst, access: Access, layout: Layout) -> Template | None:
    """Flat accesses are such, too, of which the address says which memory they mean."""
    space = "flat" if inst.name.startswith("flat") else "global"
    address, base, data = inst.src[0], inst.src[-1], access.data_of(inst, 1)
    if data is None or address.kind != "v" or base.kind not in ("none", "s"):
        return None
    if base.kind == "s" and base.index == NULL:
        return None
    add = (inst.mods.get("offset", 0) - BASE_ADDRESS) & 0xFFFF_FFFF_FFFF_FFFF
    reads, writes = access.moved(data)
    form = access.form(space, "address_vv" if base.kind == "none" else "address_sv")
    return Template(
        form.symbol,
        (layout.offset(address), data[0].index, layout.offset(base) if base.kind == "s" else 0),
        (add & 0xFFFFFFFF, add >> 32, BASE_ADDRESS & 0xFFFFFFFF, BASE_ADDRESS >> 32),
        (address, base, *reads),
        writes,
        form=form,
        line=access.line(layout),
        active=True,
    )


def _buffer(inst: Inst, access: Access, layout: Layout) -> Template | None:
    if inst.mods.get("lds"):
        return None
    data = access.data_of(inst, 0)
    lanes, resource, last = inst.src[-3:]
    added = scalar_of(last, layout)
    if data is None or added is None or lanes.kind not in ("v", "none") or resource.kind != "s":
        return None
    flags = (lanes.kind == "v") | (not added.known) << 1
    reads, writes = access.moved(data)
    form = access.form("buffer")
    return Template(
        form.symbol,
        (
            layout.offset(lanes) if lanes.kind == "v" else 0,
            data[0].index,
            layout.offset(resource),
            added.offset,
        ),
        (_BASE & 0xFFFFFFFF, _BASE >> 32, inst.mods.get("offset", 0) & 0xFFFFFFFF, flags, added.number),
        (lanes, Operand("s", resource.index, 4, 128), last, *reads),
        writes,
        form=form,
        active=True,
    )


def _scratch(inst: Inst, access: Access, layout: Layout) -> Template | None:
    data, lanes, base = access.data_of(inst, 1), inst.src[0], inst.src[-1]
    added = scalar_of(base, layout)
    if data is None or added is None or lanes.kind not in ("v", "none") or (added.known and added.number):
        return None
    flags = (lanes.kind == "v") | (not added.known) << 1
    reads, writes = access.moved(data)
    form = access.form("scratch")
    return Template(
        form.symbol,
        (layout.offset(lanes) if lanes.kind == "v" else 0, data[0].index, added.offset),
        (inst.mods.get("offset", 0) & 0xFFFFFFFF, flags),
        (lanes, base, *reads),
        writes,
        form=form,
        active=True,
    )


def _scalar_load(dwords: int) -> Callable[[Inst, Layout], Template | None]:
    def build(inst: Inst, layout: Layout) -> Template | None:
        base, extra, target = inst.src[0], inst.src[1], inst.dst[0]
        if base.kind != "s" or base.index > EXEC_LO or target.index == NULL or target.index + dwords > SCC:
            return None
        in_register = extra.kind == "s" and extra.index != NULL
        if not in_register and extra.kind == "none":
            return None
        known = 0 if in_register or extra.kind == "s" else constant_bits(extra, 32)
        offset = inst.mods.get("offset", 0) & 0xFFFF_FFFF_FFFF_FFFF
        return Template(
            "F_s_load",
            (layout.offset(base), layout.offset(target), layout.offset(extra) if in_register else 0),
            (offset & 0xFFFFFFFF, offset >> 32, dwords, int(in_register), known, BASE_ADDRESS & 0xFFFFFFFF,
             BASE_ADDRESS >> 32),
            (Operand("s", base.index, 2, 64), *((extra,) if in_register else ())),
            ((Operand("s", target.index, dwords), WHOLE),),
            line=Line(4 * dwords, False, 1, 1),
        )  # fmt: skip

    return build


_SPACES: Mapping[str, _Builder] = {
    "global": _global,
    "flat": _global,
    "buffer": _buffer,
    "scratch": _scratch,
}


def _vector_accesses() -> Iterator[tuple[str, Access, _Builder]]:
    for suffix, width in WIDTHS.items():
        if not suffix.startswith("b"):
            yield f"ds_load_{suffix}", Access(True, width), _lds
            for space, builder in _SPACES.items():
                yield f"{space}_load_{suffix}", Access(True, width), builder
        if suffix.startswith("b") or "b16" in suffix or "b8" in suffix:
            for verb in ("load", "store"):
                for space, builder in _SPACES.items():
                    yield f"{space}_{verb}_{suffix}", Access(verb == "load", width), builder
            yield f"ds_load_{suffix}", Access(True, width), _lds
            yield f"ds_store_{suffix}", Access(False, width), _lds
            yield f"ds_write_{suffix}", Access(False, width), _lds
        yield f"ds_read_{suffix}", Access(True, older_width(suffix)), _lds
    for old in OLD_NAMES:
        for space, builder in _SPACES.items():
            yield f"{space}_load_{old}", Access(True, older_width(old)), builder
            yield f"{space}_store_{old}", Access(False, older_width(old)), builder


def _pairs() -> Iterator[tuple[str, Access, _Builder]]:
    for suffix in ("b32", "b64"):
        width = WIDTHS[suffix]
        for now, old, unit in (("2addr", "2", 1), ("2addr_stride64", "2st64", 64)):
            steps = (unit * width.size,) * 2
            for verb, was, load in (("load", "read", True), ("store", "write", False)):
                for name in (f"ds_{verb}_{now}_{suffix}", f"ds_{was}{old}_{suffix}"):
                    yield name, Access(load, width, steps), _lds


# A load that spoils the other half of its register is left to numpy, which tells C of undefined bits.
_ACCESSES = {
    name: (access, builder)
    for name, access, builder in (*_vector_accesses(), *_pairs())
    if not (access.load and access.width.loses)
}
_SCALAR = {
    name: _scalar_load(dwords)
    for dwords in (1, 2, 3, 4, 8, 16)
    for name in (f"s_load_b{32 * dwords}", "s_load_dword" + (f"x{dwords}" if dwords > 1 else ""))
}


def addressed(inst: Inst, size: int, layout: Layout) -> Template | None:
    """As a store of so many bytes to where an instruction points, which is no store; None where numpy executes it."""
    space = inst.name.partition("_")[0]
    builder = _lds if space == "ds" else _SPACES[space]
    return builder(inst, Access(False, Width(size)), layout)


def memory_template(inst: Inst, layout: Layout) -> Template | None:
    """The template of a load or store, None where numpy executes it."""
    if inst.name in _SCALAR:
        return _SCALAR[inst.name](inst, layout)
    access, builder = _ACCESSES.get(inst.name, (None, None))
    return builder(inst, access, layout) if access is not None and builder is not None else None
