"""The register of instruction semantics: mnemonic -> binder.

A binder is called once per instruction of a kernel and returns what executes it, or None for an
instruction that deliberately does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module

from layoutprobe.arch import Isa
from layoutprobe.isa.dialect import Dialect
from layoutprobe.isa.indexing import MODE, out_of_mode, picks_registers
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.mnemonics import mnemonics
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.program import UnboundError

Executor = Callable[[Cohort], None]
Binder = Callable[[Inst], Executor | None]

BlockBinder = Callable[[Inst, Sequence[Inst]], Executor | None]
"""A binder that also sees the instructions before this one in its basic block."""

IN_MODE = "v_in_mode"
"""Stands for every instruction whose VGPRs M0 picks by GFX9's mode, as "v_dual" for all dual ones."""
_MORE = "layoutprobe.semantics.more"
_BINDERS: dict[str, BlockBinder] = {}
_GROUPS: list[tuple[Callable[[str], bool], BlockBinder]] = []
_ALONE: set[str] = set()
"""Mnemonics that are executed alike wherever they stand."""


def instruction(*names: str) -> Callable[[Binder], Binder]:
    """Register a binder for these mnemonics."""

    def register(binder: Binder) -> Binder:
        for name in names:
            register_binder(name, binder)
        return binder

    return register


def register_binder(name: str, binder: Binder) -> None:
    """Register one mnemonic."""
    register_block_binder(name, lambda inst, earlier: binder(inst))
    _ALONE.add(name)


def register_block_binder(name: str, binder: BlockBinder) -> None:
    """Register one mnemonic whose execution may build on what its block did before."""
    if name in _BINDERS:
        raise ValueError(f"semantics of {name} registered twice")
    _BINDERS[name] = binder


def register_group(holds: Callable[[str], bool], binder: BlockBinder) -> None:
    """Register all mnemonics that `holds` says yes to: those of a table that may grow."""
    _GROUPS.append((holds, binder))


def register_alias(name: str, known: str) -> None:
    """Register one mnemonic that does what another, registered before, does."""
    register_block_binder(name, _BINDERS[known])
    if known in _ALONE:
        _ALONE.add(name)


class UnsupportedFormError(UnboundError):
    """No semantics for the mnemonic, or not with these modifiers; the text says which."""


def supported(name: str) -> bool:
    """True when the mnemonic has semantics."""
    return _binder_of(name) is not None


def builds_on_block(inst: Inst) -> bool:
    """Whether what executes the instruction may build on what its block did before."""
    name = _name_of(inst)
    return _binder_of(name) is None or name not in _ALONE


def _name_of(inst: Inst) -> str:
    if MODE in inst.mods and picks_registers(inst):
        return IN_MODE
    return "v_dual" if inst.pair else inst.name


def _binder_of(name: str) -> BlockBinder | None:
    found = _known(name)
    if found is None:
        import_module(_MORE)
        found = _known(name)
    return found


def _known(name: str) -> BlockBinder | None:
    return _BINDERS.get(name) or next((binder for holds, binder in _GROUPS if holds(name)), None)


def names(isa: Isa | None = None) -> Iterable[str]:
    """Every mnemonic of an instruction set that has semantics, sorted; "v_dual" stands for all dual ones.

    Args:
        isa: of the default target unless given.
    """
    isa = isa or Dialect().isa
    return sorted(name for name in mnemonics(isa) | {"v_dual"} if supported(name))


def bind(inst: Inst, earlier: Sequence[Inst] = ()) -> Executor | None:
    """Executor of one instruction, None for one that deliberately does nothing.

    Args:
        inst: the instruction.
        earlier: the instructions before it in its basic block.

    Raises:
        UnsupportedFormError: no semantics, or not in this form.
    """
    name = _name_of(inst)
    binder = _binder_of(name)
    if binder is None:
        raise UnsupportedFormError("no semantics")
    return binder(inst if name == IN_MODE else out_of_mode(inst), earlier)
