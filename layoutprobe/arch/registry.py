"""The targets that layoutprobe knows. A family adds its own; so may a program that uses the package.

Families are imported one after the other until one has what is asked for: their tables of matrix
instructions take longer to make than many a command takes to run.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterable, Iterator
from importlib import import_module

from layoutprobe import plugins
from layoutprobe.arch.base import Arch
from layoutprobe.arch.isa import Isa
from layoutprobe.arch.lds import LdsModel
from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.arch.registers import Resources
from layoutprobe.errors import UsageError, did_you_mean

FAMILIES = {"rdna3": ("v_wmma_",), "rdna4": ("v_wmma_", "v_swmmac_"), "cdna": ("v_mfma_", "v_smfmac_")}
"""Module of each family -> how its matrix instructions begin. The default target's comes first."""

_loaded: set[str] = set()


class _Table(UserDict[str, Arch]):
    """Targets by name; who looks through all of them imports all families."""

    def __contains__(self, name: object) -> bool:
        if name in self.data:
            return True
        for family in FAMILIES:
            _load(family)
            if name in self.data:
                return True
        return False

    def __getitem__(self, name: str) -> Arch:
        if name not in self.data:
            _ = name in self
        return self.data[name]

    def __iter__(self) -> Iterator[str]:
        _load(*FAMILIES)
        return iter(self.data)

    def __len__(self) -> int:
        _load(*FAMILIES)
        return len(self.data)


TARGETS = _Table()
"""All of them. Of some, nothing here executes the code: see `Arch.facts_only`."""

ARCHES = _Table()
"""Those whose kernels the emulator or a card executes."""

_ISAS: list[Isa] = []
_FORMS: dict[str, tuple[MatrixForm, ...]] = {}


def _load(*families: str) -> None:
    for family in families:
        if family not in _loaded:
            _loaded.add(family)
            _add(import_module(f"layoutprobe.arch.{family}").TARGETS)


def register(*targets: Arch) -> None:
    """Add targets; everything that asks for a target knows them from then on.

    Raises:
        UsageError: there is another target of that name.
    """
    _load(*FAMILIES)
    _add(targets)


def _add(targets: Iterable[Arch]) -> None:
    for target in targets:
        if TARGETS.data.get(target.name) is target:
            continue
        if target.name in TARGETS.data:
            raise UsageError(f"there are two targets named {target.name[:40]!r}")
        TARGETS[target.name] = target
        if not target.facts_only:
            ARCHES[target.name] = target
        if target.isa is not None and target.isa not in _ISAS:
            _ISAS.append(target.isa)
        for form in target.matrix.values():
            known = _FORMS.get(form.name, ())
            _FORMS[form.name] = known if form in known else (*known, form)


def find(name: str) -> Arch:
    """The target of that name, whose kernels can be executed.

    Raises:
        UsageError: unknown; lists those known.
    """
    if name not in ARCHES:
        plugins.load()
    if name in ARCHES:
        return ARCHES[name]
    # A name close by is another chip, and no typing error: gfx1100 is none of gfx1151.
    meant = "gfx" + name.strip().lower().removeprefix("gfx")
    facts = TARGETS.get(name)
    raise UsageError(
        f"unknown arch {name[:40]!r}"
        if facts is None
        else f"{name} ({facts.product}) is known by its registers and LDS alone: no kernel of it can be executed",
        expected="one of: " + ", ".join(ARCHES),
        hint=f"did you mean {meant}?" if meant in ARCHES else None,
    )


def matrix_form(target: str, name: str) -> MatrixForm:
    """The matrix instruction of that mnemonic on a target.

    Raises:
        UsageError: unknown target, or it has none of that name; says which targets have it.
    """
    arch = find(target)
    if name in arch.matrix:
        return arch.matrix_form(name)
    having = [other.name for other in ARCHES.values() if name in other.matrix]
    if having:
        raise UsageError(
            f"{arch.name} has no matrix instruction {name!r}",
            expected="arch " + " or ".join(having),
            hint=f"choose the target that has it: --arch {having[0]}, in Python arch={having[0]!r}",
        )
    return arch.matrix_form(name)


def resources(name: str) -> Resources:
    """What the waves of a target share.

    Raises:
        UsageError: no target with known registers; lists those.
    """
    target = TARGETS.get(name)
    if target is not None and target.resources is not None:
        return target.resources
    known = [other.name for other in TARGETS.values() if other.resources]
    raise UsageError(
        f"the registers of {name[:80]!r} are not known",
        expected="one of: " + ", ".join(known),
        hint=did_you_mean(name, known),
    )


def lds_model(name: str, lanes: int) -> LdsModel:
    """The phase rules of a target for waves of so many lanes.

    Raises:
        UsageError: there are none for it.
    """
    target = TARGETS.get(name)
    if target is None or not target.lds.loads:
        known = [other.name for other in TARGETS.values() if other.lds.loads]
        raise UsageError(f"no LDS phase rules for {name!r}", expected="one of: " + ", ".join(known))
    if lanes != target.lds.wave:
        raise UsageError(f"no LDS phase rules for waves of {lanes} lanes", expected=str(target.lds.wave))
    return target.lds


def isa_of(name: str) -> Isa | None:
    """The instruction set of a processor, known as a target or not; None where it is unknown."""
    if (target := TARGETS.get(name)) is not None:
        return target.isa
    return next((isa for isa in _ISAS if isa.executes(name)), None)


def readable() -> list[str]:
    """What people call the instruction sets whose code can be decoded."""
    _load(*FAMILIES)
    return [isa.title for isa in _ISAS]


def is_matrix(name: str) -> bool:
    """Whether a family has that mnemonic. Loads no plugin: every decoded instruction asks."""
    if name not in _FORMS:
        _load_families_of(name)
    return name in _FORMS


def _load_families_of(name: str) -> None:
    _load(*(family for family, prefixes in FAMILIES.items() if name.startswith(prefixes)))


def matrix_forms(name: str) -> tuple[MatrixForm, ...]:
    """The forms of that mnemonic: families may share one and differ in its operands, modifiers choose others."""
    _load_families_of(name)
    if name not in _FORMS:
        plugins.load()
    return _FORMS.get(name, ())
