"""Law: the kernel can be launched on its target, and stays within the limits of its manifest.

What a kernel takes is read from its descriptor, which the hardware obeys, and its metadata; nothing
is executed, so every target with known registers is covered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.arch import MAX_WORKGROUP, TARGETS, Occupancy, occupancy, register_budget, resources
from layoutprobe.checks.base import Check
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.manifest.binding import bind
from layoutprobe.place import Place, SourceLine
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.report.gate import CheckResult
from layoutprobe.trace.subject import Subject

NAME = "resources"

EXPLAIN = """\
Reads what the kernel takes from its descriptor, which the hardware obeys, and its metadata: VGPRs
(AccVGPRs among them), SGPRs, LDS with the dynamic part of the launch, scratch and spills. From these
and the workgroup's size follows the occupancy, the waves that one SIMD can hold, by LLVM's law for
exactly this target; even close relatives differ. Broken where the launch is impossible (workgroup
larger than compiled for, more LDS than a workgroup may have, registers for not even one workgroup),
and where a limit of the manifest is exceeded: vgprs, sgprs, lds, scratch, spills, and occupancy, the
fewest waves per SIMD. Of all sizes of the manifest, the launch with the fewest waves counts, and only
whole workgroups do: room for half a workgroup holds none of its waves.
It says nothing about speed: more waves hide latency, but need not be faster. LDS is counted without
its allocation granule, as LLVM does. Evidence: LLVM's formula and tables, not a measurement."""

CEILINGS = {
    "vgprs": "VGPRs",
    "sgprs": "SGPRs",
    "lds": "bytes of LDS",
    "scratch": "bytes of scratch",
    "spills": "spilled registers",
}
"""Limits that a kernel may not exceed; `occupancy` is the one that it may not fall below."""

_HINTS = {
    "vgprs": "make the tile of a wave smaller, or shorten what is live across the K loop",
    "sgprs": "fewer values that are the same for the whole wave: addresses, strides, loop counters",
    "lds": "fewer stages, a smaller tile, or a swizzle instead of padding",
    "scratch": "no arrays with an index that is unknown to the compiler; see also spills",
    "spills": "give the compiler more registers (__launch_bounds__), or keep less alive",
}

WORKGROUP = Rule(
    "resources/workgroup",
    "the workgroup is larger than the kernel was compiled for",
    "The compiler gave out registers for the workgroup that it was told of; the runtime refuses a larger one.",
    "raise __launch_bounds__ of the kernel, or launch smaller workgroups",
)
UNDERSTATED = Rule(
    "resources/descriptor",
    "the kernel descriptor asks for fewer VGPRs than the kernel uses",
    "The hardware gives what the descriptor asks for: registers beyond belong to another wave.",
    "correct .amdhsa_next_free_vgpr or .vgpr_count in the assembly",
)
LDS = Rule(
    "resources/lds",
    "a workgroup needs more LDS than the target gives to one",
    "The launch fails.",
    _HINTS["lds"],
)
NO_ROOM = Rule(
    "resources/no-room",
    "not even one workgroup fits",
    "All waves of a workgroup must be resident at once. They are not, so the launch fails.",
    "smaller workgroups, or fewer VGPRs",
)
LIMITS = {
    name: Rule(
        f"resources/limit-{name}",
        f"the kernel takes more {what} than the manifest's limit",
        f"The author of the manifest has set the limit `{name}`; the kernel runs, but exceeds it.",
        _HINTS[name],
    )
    for name, what in CEILINGS.items()
}
OCCUPANCY = Rule(
    "resources/limit-occupancy",
    "a SIMD holds fewer waves of the kernel than the manifest's limit",
    "The author of the manifest has set the limit `occupancy`; the kernel runs, but with fewer waves to hide "
    "latency.",
    "fewer VGPRs, less LDS a workgroup, or another size of workgroups: the finding says which one decides",
)
_TOLD = ("VGPRs", "LDS bytes", "waves per SIMD")
"""Figures that stand in the line of the check."""
RULES = (WORKGROUP, UNDERSTATED, LDS, NO_ROOM, *LIMITS.values(), OCCUPANCY)


class Used(Struct, frozen=True):
    """What one launch of a kernel takes.

    Attributes:
        target: processor of the code object.
        kernel: the kernel's name.
        source: where the kernel begins; None without debug information.
        vgprs: VGPRs of a wave that the metadata states, AccVGPRs included.
        agprs: AccVGPRs among them.
        allocated: VGPRs that the descriptor asks for; the hardware gives these.
        sgprs: SGPRs that the metadata states.
        lds: bytes of LDS of a workgroup, dynamic ones included.
        scratch: bytes of scratch of a lane; a lower bound where `dynamic_stack`.
        spills: VGPRs and SGPRs spilled.
        workgroup: work-items of a workgroup.
        max_workgroup: the largest workgroup that it was compiled for.
        dynamic_stack: the compiler could not bound the stack.
        occupancy: None where the target does not have that much to give, or is not known.
    """

    target: str
    kernel: str
    source: SourceLine | None
    vgprs: int
    agprs: int
    allocated: int
    sgprs: int
    lds: int
    scratch: int
    spills: int
    workgroup: int
    max_workgroup: int
    dynamic_stack: bool
    occupancy: Occupancy | None = None

    @property
    def place(self) -> Place:
        """Place of a finding."""
        return Place(kernel=self.kernel, source=self.source)


def measure(code: CodeObject, kernel: Kernel, workgroup: int, dynamic_lds: int = 0) -> Used:
    """What a launch of the kernel takes.

    Args:
        code: the code object.
        kernel: one of its kernels.
        workgroup: work-items of a workgroup.
        dynamic_lds: bytes of LDS that the launch adds.
    """
    descriptor = kernel.descriptor
    target = TARGETS.get(code.target)
    known = target.resources if target else None
    lds = descriptor.group_segment_size + dynamic_lds
    agprs = allocated = 0
    found = None
    if known is not None and kernel.wavefront_size in known.vgprs:
        allocated = ((descriptor.rsrc1 & 63) + 1) * known.vgprs[kernel.wavefront_size].encoded
        first_agpr = descriptor.first_accvgpr(known.accvgpr_granule) if known.unified else allocated
        agprs = max(kernel.vgprs - first_agpr, 0)
        if target and lds <= target.lds_bytes and 1 <= workgroup <= MAX_WORKGROUP:
            found = _occupancy(code.target, kernel, allocated, lds, workgroup)
            needed = _occupancy(code.target, kernel, min(kernel.vgprs, allocated), lds, workgroup)
            if needed.waves == found.waves:
                # Where something else is scarce, compilers ask for all registers that this leaves: no limit.
                found = replace(needed, registers=found.registers)
    return Used(
        target=code.target,
        kernel=kernel.name,
        source=code.lines.find(kernel.entry),
        vgprs=kernel.vgprs,
        agprs=agprs,
        allocated=allocated,
        sgprs=kernel.sgprs,
        lds=lds,
        scratch=descriptor.private_segment_size,
        spills=kernel.vgpr_spills + kernel.sgpr_spills,
        workgroup=workgroup,
        max_workgroup=kernel.max_workgroup_size,
        dynamic_stack=kernel.uses_dynamic_stack,
        occupancy=found,
    )


def _occupancy(target: str, kernel: Kernel, registers: int, lds: int, workgroup: int) -> Occupancy:
    """Waves with so many VGPRs, AccVGPRs among them. Whole granules: how they are split does not matter."""
    known = resources(target)
    reach = min(registers, known.addressable)
    return occupancy(
        target,
        reach,
        agprs=min(registers - reach, known.addressable) if known.unified else 0,
        sgprs=min(kernel.sgprs, 128),
        lds=lds,
        workgroup=workgroup,
        wave=kernel.wavefront_size,
        cu_mode=known.unit == "WGP" and not kernel.descriptor.wgp_mode,
    )


def worst(launches: Iterable[Used]) -> Used:
    """The launch that holds the fewest workgroups and waves, and of these the one with the most LDS.

    Raises:
        ValueError: there is none.
    """

    def rank(used: Used) -> tuple[int, int, int]:
        found = used.occupancy
        if found is None:  # more than there is: nothing is worse
            return (-1, -1, -used.lds)
        return (min(found.workgroups or 0, 1), found.waves, -used.lds)

    return min(launches, key=rank)


def run(subject: Subject) -> CheckResult:
    """Judge the kernel at its worst launch among the sizes of the manifest."""
    case = subject.case
    bindings = (subject.binding, *(bind(case, sizes) for sizes in case.sizes if sizes != subject.sizes))
    launches = {(prod(b.block), b.dynamic_lds) for b in bindings}
    used = worst(measure(subject.code, subject.kernel, *launch) for launch in sorted(launches))
    return judge(used, {name: getattr(case.limits, name) for name in (*CEILINGS, "occupancy")})


def judge(used: Used, limits: Mapping[str, int | None]) -> CheckResult:
    """Compare what a launch takes with the target and with the limits.

    Args:
        used: from `measure`.
        limits: name -> limit; None or missing: no limit. Names: those of CEILINGS, and "occupancy",
            the fewest waves per SIMD.
    """
    findings = (*_impossible(used), *_over(used, limits), *_under(used, limits))
    figures = metrics(used)
    if findings:
        return CHECK.found(findings, metrics=figures)
    open_question = _undecided(used, limits)
    if open_question:
        return CHECK.undecided(open_question, metrics=figures)
    named = ", ".join(name for name, limit in limits.items() if limit is not None)
    limits_are = f"within the limits on {named}" if named else "no limits are set"
    told = ", ".join(f"{name} {figures[name]}" for name in _TOLD if name in figures)
    return CHECK.holds(f"{told}; {limits_are}", metrics=figures)


def metrics(used: Used) -> dict[str, object]:
    """The figures of a launch, in reading order."""
    figures: dict[str, object] = {"VGPRs": used.vgprs}
    if used.agprs:
        figures["of these AccVGPRs"] = used.agprs
    figures |= {"SGPRs": used.sgprs, "LDS bytes": used.lds}
    figures["scratch bytes"] = f"at least {used.scratch}" if used.dynamic_stack else used.scratch
    figures["spills"] = used.spills
    found = used.occupancy
    if found is not None:
        figures["waves per SIMD"] = found.waves
        figures["waves at most"] = found.max_waves
        if found.limited_by:
            figures["limited by"] = found.limit
    return figures


def _impossible(used: Used) -> Iterator[Finding]:
    """What no launch of this kernel on this target survives."""
    known = TARGETS.get(used.target)
    if used.workgroup > used.max_workgroup:
        yield Finding(
            WORKGROUP,
            "the workgroup is larger than the kernel was compiled for: the launch is refused",
            used.place,
            expected=f"at most {used.max_workgroup} work-items",
            observed=f"{used.workgroup} work-items",
            hint="raise __launch_bounds__ of the kernel, or launch smaller workgroups",
        )
    if used.allocated and used.vgprs > used.allocated:
        yield Finding(
            UNDERSTATED,
            "the kernel descriptor asks for fewer VGPRs than the kernel's metadata says it uses",
            used.place,
            expected=f"{used.vgprs} VGPRs or more in the descriptor, which the hardware obeys",
            observed=f"{used.allocated} VGPRs",
            hint="correct .amdhsa_next_free_vgpr or .vgpr_count in the assembly",
        )
    if known is not None and used.lds > known.lds_bytes:
        yield Finding(
            LDS,
            "a workgroup needs more LDS than the target gives to one",
            used.place,
            expected=f"at most {known.lds_bytes} bytes on {used.target}",
            observed=f"{used.lds} bytes",
            hint=_HINTS["lds"],
        )
    if used.occupancy is not None and used.occupancy.workgroups == 0:
        yield _no_workgroup_fits(used, used.occupancy)


def _no_workgroup_fits(used: Used, found: Occupancy) -> Finding:
    waves = -(-used.workgroup // found.wave)
    return Finding(
        NO_ROOM,
        f"not even one workgroup fits on a {found.unit}: the launch fails",
        used.place,
        expected=f"room for the {waves} waves of a workgroup",
        observed=f"{found.waves} waves per SIMD, limited by {found.limit}",
        hint="smaller workgroups, or fewer VGPRs",
    )


def _over(used: Used, limits: Mapping[str, int | None]) -> Iterator[Finding]:
    for name, what in CEILINGS.items():
        limit, value = limits.get(name), int(getattr(used, name))
        if limit is None or value <= limit:
            continue
        detail = f", {used.agprs} of them AccVGPRs" if name == "vgprs" and used.agprs else ""
        yield Finding(
            LIMITS[name],
            f"{used.kernel} takes {value} {what}; its limit {name!r} is {limit}",
            used.place,
            expected=f"at most {limit} {what}",
            observed=f"{value} {what}{detail}",
            hint=_HINTS[name],
        )


def _under(used: Used, limits: Mapping[str, int | None]) -> Iterator[Finding]:
    least, found = limits.get("occupancy"), used.occupancy
    if least is None or found is None or found.waves >= least:
        return
    hint = f"{found.target} never holds more than {found.max_waves} waves per SIMD: lower the limit"
    if least <= found.max_waves:
        hint = _how_to_reach(found, least)
    yield Finding(
        OCCUPANCY,
        f"{used.kernel} reaches {found.waves} waves per SIMD; its limit 'occupancy' is {least}",
        used.place,
        expected=f"at least {least} waves per SIMD",
        observed=f"{found.waves}, limited by {found.limit or 'the wave slots'}"
        f" (a wave is given {found.registers} VGPRs)",
        hint=hint,
    )


def _how_to_reach(found: Occupancy, least: int) -> str:
    short = [name for name, waves in found.limits.items() if waves < least]
    steps = []
    if "VGPRs" in short:
        most = register_budget(found.target, least, wave=found.wave).registers
        steps.append(f"{least} waves leave {most} VGPRs to each")
    if "SGPRs" in short:
        steps.append("use fewer SGPRs")
    if "LDS and workgroup size" in short:
        steps.append("less LDS a workgroup, or larger workgroups on the same LDS")
    if not short:
        steps.append("smaller workgroups: only whole ones fit, and one more of this size does not")
    return "; ".join(steps)


def _undecided(used: Used, limits: Mapping[str, int | None]) -> str:
    if used.target not in TARGETS or TARGETS[used.target].resources is None:
        return f"the registers of {used.target} are not known, so neither is its occupancy"
    if used.occupancy is None:
        return f"{used.target} has no waves of this size, or no such workgroups"
    if used.dynamic_stack and limits.get("scratch") is not None:
        return "the compiler could not bound the stack, so scratch has no upper bound to compare"
    return ""


CHECK = Check(
    NAME,
    "the kernel can be launched on its target and stays within the manifest's limits",
    EXPLAIN,
    run,
    rules=RULES,
    per_size=False,
)
