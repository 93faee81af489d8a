"""The targets that layoutprobe knows. A family adds its own; so may a program that uses the package."""

from __future__ import annotations

from layoutprobe import plugins
from layoutprobe.arch.base import Arch
from layoutprobe.arch.isa import Isa
from layoutprobe.arch.lds import LdsModel
from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.arch.registers import Resources
from layoutprobe.errors import UsageError, did_you_mean

TARGETS: dict[str, Arch] = {}
"""All of them. Of some, nothing here executes the code: see `Arch.facts_only`."""

ARCHES: dict[str, Arch] = {}
"""Those whose kernels the emulator or a card executes."""

_ISAS: list[Isa] = []
_FORMS: dict[str, tuple[MatrixForm, ...]] = {}


def register(*targets: Arch) -> None:
    """Add targets; everything that asks for a target knows them from then on.

    Raises:
        UsageError: there is another target of that name.
    """
    for target in targets:
        if TARGETS.get(target.name) is target:
            continue
        if target.name in TARGETS:
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
    raise UsageError(
        f"unknown arch {name[:40]!r}",
        expected="one of: " + ", ".join(ARCHES),
        hint=f"did you mean {meant}?" if meant in ARCHES else None,
    )


def matrix_form(target: str, name: str) -> MatrixForm:
    """The matrix instruction of that mnemonic on a target.

    Raises:
        UsageError: unknown target, or it has none of that name; says which targets have it.
    """
    arch = find(target)
    having = [other.name for other in ARCHES.values() if name in other.matrix]
    if having and name not in arch.matrix:
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
    return [isa.title for isa in _ISAS]


def is_matrix(name: str) -> bool:
    """Whether a family that is loaded has that mnemonic. Loads none: every decoded instruction asks."""
    return name in _FORMS


def matrix_forms(name: str) -> tuple[MatrixForm, ...]:
    """The forms of that mnemonic: families may share one and differ in its operands, modifiers choose others."""
    if name not in _FORMS:
        plugins.load()
    return _FORMS.get(name, ())
