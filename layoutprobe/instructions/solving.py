"""From a prober to the layout of its instruction."""

from __future__ import annotations

from collections.abc import Mapping

from layoutprobe.instructions.naming import NAMES, renamed, with_documented_names
from layoutprobe.instructions.probe import Prober, Variant
from layoutprobe.layouts.instruction import InstructionLayout
from layoutprobe.solver.bench import Execute, Extents
from layoutprobe.solver.copies import documented_copies
from layoutprobe.solver.interaction import Interaction, rules_in_words, solve_instruction


def extents_of(variant: Variant) -> Extents:
    """Registers and element types of the operands, which the assembler fixes."""
    form, vgprs = variant.form, variant.form.vgprs(variant.wave)
    return Extents(
        variant.wave,
        {name: vgprs[name] for name in "ABD"},
        {"A": form.a, "B": form.b, "D": form.result},
        form.sparse,
        form.scaled,
    )


def solved_by(variant: Variant, execute: Execute) -> Interaction:
    """What executions of a variant show, with the solver's own names."""
    form = variant.form
    return solve_instruction(extents_of(variant), form.shape, execute, form.blocks)


def interaction_by(variant: Variant, execute: Execute) -> Interaction:
    """What executions of a variant show, with the document's names where these are but names.

    Raises:
        ProbeError: it is no matrix product of the documented shape.
    """
    return with_documented_names(solved_by(variant, execute), variant.form, variant.wave)


def result_of(prober: Prober) -> InstructionLayout:
    """The layout of the prober's instruction, with the document's names where these are but names.

    Raises:
        As `layoutprobe.instructions.solve`.
    """
    return layout_of(prober.variant, solved_by(prober.variant, prober), prober)


def layout_of(variant: Variant, solved: Interaction, prober: Prober) -> InstructionLayout:
    """The result in the form that everyone reads."""
    form = variant.form
    layouts, axes = renamed(solved.needed, form, variant.wave, variant.opsel)
    live = {name: ~layout.holes for name, layout in layouts.items()}
    apart = form.copies_every(variant.wave)
    sources = {}
    if apart:
        layouts |= {name: documented_copies(layouts[name], apart) for name in "AB"}
        sources["copies"] = (
            f"lanes {apart} apart hold the same elements of A and of B (RDNA3 ISA guide, 7.9); which copy "
            "an output reads is the model of the emulator, where the run is emulated"
        )
    if axes:
        sources["names"] = f"{', '.join(NAMES[axis] for axis in sorted(axes))}: as in {form.document}"
    if form.sparse:
        sources["shape"] = f"no document but {form.document} describes the sparse forms"
    capture = prober.captures[0]
    silicon = "silicon arithmetic" in prober.evidence.source and "silicon" in form.arithmetic
    emulated = "emulated" in (prober.evidence.kind, prober.evidence.recorded)
    return InstructionLayout(
        instruction=form.spelling,
        arch=variant.arch,
        wave=variant.wave,
        opsel=variant.opsel,
        shape=form.shape,
        operands=layouts,
        live=live,
        readers=solved.readers,
        kept=solved.meetings.kept.reshape(solved.needed["D"].row.shape),
        gauge=solved.gauge,
        convention=_convention(solved.rules, axes, form.document),
        ambiguity=_ambiguity(solved),
        launches=sum(solved.launches.values()),
        evidence=prober.evidence,
        arithmetic=("silicon" if silicon else "ieee") if emulated else "",
        toolchain=capture.toolchain,
        sources=sources,
    )


def _convention(rules: Mapping[str, str], axes: set[str], document: str) -> str:
    return rules_in_words({**rules, **{axis: f"{NAMES[axis]} as in {document}" for axis in axes}})


def _ambiguity(solved: Interaction) -> str:
    gauge = solved.gauge
    text = f"known up to names: {gauge}"
    if gauge.stacked == "products":
        text += f"; separately for each of {gauge.blocks} products"
    elif gauge.blocks > 1:
        text += (
            f"; the {gauge.blocks} groups of output {gauge.stacked} read copies of their own, and only the "
            "documented replication says that these are copies"
        )
    return text
