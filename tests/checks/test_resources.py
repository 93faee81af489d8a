"""Resources: occupancy at the known points, kernels as compiled against the compiler's own words,
and each limit, exceeded and kept."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.arch import TARGETS, occupancy, register_budget, resources
from layoutprobe.checks.resources import CHECK, Used, judge, measure, metrics, worst
from layoutprobe.codeobj.elf import load
from layoutprobe.errors import UsageError
from layoutprobe.manifest.binding import bind
from layoutprobe.manifest.model import Expression, KernelCase, Limits, NoContract
from layoutprobe.patterns.expression import parse
from layoutprobe.toolchain.compile import Compiled, assemble, compile_hip
from layoutprobe.trace.subject import Subject

pytestmark = pytest.mark.usefixtures("compiles_aside")

KNOWN = [name for name, target in TARGETS.items() if target.resources]
KERNEL = """\
typedef float f4 __attribute__((ext_vector_type(4)));
__attribute__((device)) inline int id() { return __builtin_amdgcn_workitem_id_x(); }

extern "C" __attribute__((global, amdgpu_flat_work_group_size(256, 256)))
void staged(float* out, const float* in) {
  __attribute__((shared)) static float tile[5000];
  tile[id()] = in[id()];
  __builtin_amdgcn_s_barrier();
  out[id()] = tile[255 - id()];
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(64, 64)))
void many(float* out, const f4* in) {
  f4 held[40];
#pragma unroll
  for (int i = 0; i < 40; ++i) held[i] = in[i * 64 + id()];
  asm volatile("" ::: "memory");
  f4 sum = 0;
#pragma unroll
  for (int i = 39; i >= 0; --i) { asm volatile("" : "+v"(held[i])); sum = sum * held[i] + held[i]; }
  out[id()] = sum[0] + sum[3];
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(1024, 1024), amdgpu_num_vgpr(32)))
void spilling(f4* out, const f4* in) {
  f4 held[24];
#pragma unroll
  for (int i = 0; i < 24; ++i) held[i] = in[i * 64 + id()];
  asm volatile("" ::: "memory");
#pragma unroll
  for (int i = 23; i >= 0; --i) { asm volatile("" : "+v"(held[i])); out[i * 64 + id()] = held[i]; }
}
"""


def compiled(folder: Path, target: str, *flags: str) -> Compiled:
    source = folder / "kernels.hip"
    source.write_text(KERNEL, "utf-8")
    return compile_hip(source, target=target, flags=flags)


def test_vgpr_steps() -> None:
    """LLVM's results for gfx1151, gfx1102 and gfx1150, from clang 22.1.8."""
    for most, waves in [(96, 16), (120, 12), (144, 10), (168, 9), (192, 8), (216, 7), (240, 6), (256, 5)]:
        assert occupancy("gfx1151", most).waves == waves
        if most < 256:
            assert occupancy("gfx1151", most + 1).waves < waves
    assert [occupancy("gfx1151", n, wave=64).waves for n in (48, 49, 96, 97)] == [16, 12, 8, 7]
    assert [occupancy(t, 256).waves for t in ("gfx1102", "gfx1150", "gfx1151")] == [4, 4, 5]


def test_accvgpr_steps() -> None:
    """LLVM's results for a unified file; n registers in all, half of them AccVGPRs from 72 on."""
    steps = [
        (64, 8),
        (65, 7),
        (72, 7),
        (80, 6),
        (96, 5),
        (104, 4),
        (128, 4),
        (129, 3),
        (168, 3),
        (169, 2),
        (256, 2),
    ]
    for total, waves in steps:
        assert occupancy("gfx942", total).waves == waves
        assert occupancy("gfx942", 32, agprs=total - 32).waves == waves
    assert occupancy("gfx942", 256, agprs=256).waves == 1
    for target in ("gfx90a", "gfx942", "gfx950"):
        pairs = [(128, 128), (128, 0), (64, 64), (256, 256)]
        assert [occupancy(target, v, agprs=a).waves for v, a in pairs] == [2, 4, 4, 1]


def test_register_file_bytes() -> None:
    assert (register_budget("gfx942", 1).simd_bytes, register_budget("gfx942", 1).cu_bytes) == (
        128 << 10,
        512 << 10,
    )
    # AMD's tables list 768 KiB per WGP of gfx1100, which is two CUs.
    assert register_budget("gfx1100", 1).cu_bytes == 384 << 10


@pytest.mark.parametrize(
    ("target", "lds", "workgroup", "waves"),
    [
        *[("gfx1151", 16384, 64, 4), ("gfx1151", 16384, 256, 16), ("gfx1151", 32768, 256, 8)],
        *[("gfx1151", 65536, 256, 4), ("gfx1151", 65536, 64, 1)],
        *[("gfx942", 16384, 256, 4), ("gfx942", 32768, 256, 2), ("gfx942", 65536, 256, 1)],
        *[("gfx950", 32768, 256, 5), ("gfx950", 65536, 256, 2), ("gfx950", 81920, 256, 2)],
        ("gfx950", 163840, 256, 1),
    ],
)
def test_lds_points(target: str, lds: int, workgroup: int, waves: int) -> None:
    """LLVM's results, from clang 22.1.8."""
    assert occupancy(target, 1, lds=lds, workgroup=workgroup).waves == waves


@pytest.mark.parametrize("target", KNOWN)
def test_budget_is_the_inverse_of_occupancy(target: str) -> None:
    known = resources(target)
    for wave in known.vgprs:
        for waves in range(1, known.max_waves + 1):
            most = register_budget(target, waves, wave=wave).registers
            vgprs, agprs = min(most, 256), max(most - 256, 0)
            assert occupancy(target, vgprs, agprs=agprs, wave=wave).waves >= waves
            if vgprs < 256:
                assert occupancy(target, vgprs + 1, wave=wave).waves < waves


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"vgprs": 257}, "257 VGPRs"),
        ({"vgprs": 8, "agprs": 4}, "no AccVGPRs to give"),
        ({"vgprs": -1}, "-1 VGPRs"),
        ({"vgprs": 8, "lds": 1024}, "workgroup's size is needed"),
        ({"vgprs": 8, "workgroup": 0}, "work-items"),
        ({"vgprs": 8, "wave": 16}, "no waves of 16 lanes"),
        ({"vgprs": 8, "lds": 65537, "workgroup": 64}, "65537 bytes of LDS"),
    ],
)
def test_impossible_questions(arguments: dict[str, int], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        occupancy("gfx1151", **cast(Any, arguments))


def test_unknown_target_names_a_near_one() -> None:
    with pytest.raises(UsageError) as caught:
        occupancy("gxf942", 8)
    assert caught.value.hint == "did you mean gfx942?"
    assert "gfx1201" in str(caught.value.expected)
    with pytest.raises(UsageError, match="cannot hold 9 waves"):
        register_budget("gfx942", 9)


def test_what_limits_is_named() -> None:
    assert occupancy("gfx1151", 96, workgroup=256).limited_by == ()
    assert occupancy("gfx1151", 240, lds=16384, workgroup=256).limited_by == ("VGPRs",)
    assert occupancy("gfx1151", 200, lds=16384, workgroup=256).limited_by == ("VGPRs", "whole workgroups")
    assert occupancy("gfx1151", 96, lds=65536, workgroup=64).limited_by == ("LDS and workgroup size",)
    assert occupancy("gfx1151", 192, lds=32768, workgroup=256).limited_by == (
        "VGPRs",
        "LDS and workgroup size",
    )
    assert occupancy("gfx942", 64, sgprs=102).limited_by == ("SGPRs",)


def test_workgroups_are_whole() -> None:
    """256 VGPRs leave 5 waves on each of 4 SIMDs: 20 waves hold two workgroups of 8, none of 32."""
    assert occupancy("gfx1151", 256, workgroup=256).workgroups == 2
    assert occupancy("gfx1151", 256, workgroup=1024).workgroups == 0
    assert occupancy("gfx1151", 96, workgroup=1024).workgroups == 2
    assert occupancy("gfx1151", 96, workgroup=1024, cu_mode=True).workgroups == 1
    assert occupancy("gfx1151", 96).workgroups is None


@pytest.mark.parametrize(
    ("target", "vgprs", "workgroup", "cu_mode", "workgroups", "waves"),
    [
        # 97 VGPRs take 120 of 1536: 12 waves on each SIMD. A WGP's 48 hold one group of 32, which is 8 each.
        ("gfx1151", 97, 1024, False, 1, 8),
        ("gfx1151", 97, 768, False, 2, 12),  # two groups of 24
        ("gfx1151", 97, 512, True, 1, 8),  # a CU's 24 hold one group of 16, on two SIMDs
        ("gfx1151", 97, 768, True, 1, 12),
        ("gfx1151", 200, 256, False, 3, 6),  # 7 on each of 4: 28 hold three groups of 8
        ("gfx1151", 200, 160, False, 5, 7),  # five groups of 5: 25 on four SIMDs, the fullest has 7
        # 65 VGPRs take 72 of 512: 7 waves on each of the four SIMDs of a CU, 28 in all.
        *[(target, 65, 1024, False, 1, 4) for target in ("gfx942", "gfx950")],
        *[(target, 65, 512, False, 3, 6) for target in ("gfx942", "gfx950")],
        *[(target, 65, 256, False, 7, 7) for target in ("gfx942", "gfx950")],
        *[(target, 96, 768, False, 1, 3) for target in ("gfx942", "gfx950")],  # 5 each: 20 hold one of 12
    ],
)
def test_waves_are_those_of_whole_workgroups(
    target: str, vgprs: int, workgroup: int, cu_mode: bool, workgroups: int, waves: int
) -> None:
    """By hand. LLVM prints what the resources allow, which is more."""
    found = occupancy(target, vgprs, workgroup=workgroup, cu_mode=cu_mode)
    assert (found.workgroups, found.waves) == (workgroups, waves)
    assert ("whole workgroups" in found.limited_by) == (found.waves < min(found.limits.values()))


def test_a_limit_that_whole_workgroups_miss_is_broken() -> None:
    """12 waves' worth of registers, of which one group of 32 on four SIMDs uses 8."""
    used = Used(
        target="gfx1151",
        kernel="k",
        source=None,
        vgprs=97,
        agprs=0,
        allocated=120,
        sgprs=16,
        lds=65536,
        scratch=0,
        spills=0,
        workgroup=1024,
        max_workgroup=1024,
        dynamic_stack=False,
        occupancy=occupancy("gfx1151", 97, lds=65536, workgroup=1024),
    )
    assert judge(used, {"occupancy": 8}).status == "holds"
    broken = judge(used, {"occupancy": 10})
    assert broken.status == "finding"
    assert "reaches 8 waves per SIMD" in broken.findings[0].what
    assert "smaller workgroups" in str(broken.findings[0].hint)


class Printed(Struct, frozen=True):
    """What the compiler says about one kernel, in the comments and directives of its assembly."""

    vgprs: int
    agprs: int
    sgprs: int
    lds: int
    scratch: int
    occupancy: int
    spills: int


def printed(assembly: str, name: str) -> Printed:
    text = assembly[assembly.index(f"\n{name}:") :]

    def number(pattern: str, text: str = text, default: int | None = None) -> int:
        found = re.search(pattern, text)
        assert found is not None or default is not None, pattern
        return int(found[1]) if found else default or 0

    comments = text[text.index("; Kernel info:") :]
    comments = comments[: comments.index("; Occupancy:") + 40]
    entries = re.split(r"^  - \.a", assembly, flags=re.MULTILINE)  # .agpr_count or .args comes first
    entry = next(e for e in entries if re.search(rf"\.name: +{name}\n", e))
    return Printed(
        vgprs=number(r"; TotalNumVgprs: (\d+)", comments, number(r"; NumVgprs: (\d+)", comments)),
        agprs=number(r"; NumAgprs: (\d+)", comments, 0),
        sgprs=number(r"; TotalNumSgprs: (\d+)", comments),
        lds=number(r"; LDSByteSize: (\d+)", comments),
        scratch=number(r"; ScratchSize: (\d+)", comments),
        occupancy=number(r"; Occupancy: (\d+)", comments),
        spills=number(r"\.sgpr_spill_count: (\d+)", entry) + number(r"\.vgpr_spill_count: (\d+)", entry),
    )


@pytest.mark.parametrize("target", KNOWN)
@pytest.mark.parametrize("wide", [False, True])
def test_measured_as_the_compiler_prints(target: str, wide: bool, tmp_path: Path) -> None:
    if wide and TARGETS[target].wave_size == 64:
        flags: tuple[str, ...] = ("-O1",)  # wave64 is all there is: another optimisation level instead
    else:
        flags = ("-mwavefrontsize64",) if wide else ()
    built = compiled(tmp_path, target, *flags)
    code = load(built.data)
    seen = []
    for name, workgroup in (("staged", 256), ("many", 64), ("spilling", 1024)):
        used = measure(code, code.kernel(name), workgroup)
        assert used.occupancy is not None
        theirs = printed(built.assembly, name)
        ours = Printed(
            used.vgprs, used.agprs, used.sgprs, used.lds, used.scratch, used.occupancy.waves, used.spills
        )
        assert ours == theirs
        seen.append(ours)
    assert seen[0].lds == 20000
    assert seen[1].vgprs > 80
    assert seen[2].spills > 0
    assert seen[2].scratch > 0


def test_accvgprs_of_a_compiled_kernel(tmp_path: Path) -> None:
    source = tmp_path / "acc.hip"
    claim = 'extern "C" __attribute__((global)) void k() { asm volatile("" ::: "v64", "a62"); }\n'
    source.write_text(claim, "utf-8")
    code = load(compile_hip(source, target="gfx942").data)
    used = measure(code, code.kernel(), 64)
    # 65 VGPRs are rounded up to 68, where the 63 AccVGPRs begin.
    assert (used.vgprs, used.agprs, used.allocated) == (131, 63, 136)
    assert used.occupancy is not None
    assert (used.occupancy.waves, used.occupancy.registers) == (3, 136)
    assert metrics(used)["of these AccVGPRs"] == 63


def staged(folder: Path, target: str = "gfx1151", name: str = "staged", workgroup: int = 256) -> Used:
    code = load(compiled(folder, target).data)
    return measure(code, code.kernel(name), workgroup)


def test_each_limit_at_its_edge(tmp_path: Path) -> None:
    used = staged(tmp_path, name="spilling", workgroup=1024)
    assert used.occupancy is not None
    line = KERNEL[: KERNEL.index("void spilling")].count("\n") + 1
    for name in ("vgprs", "sgprs", "lds", "scratch", "spills"):
        value = getattr(used, name)
        assert judge(used, {name: value}).status == "holds"
        assert name in judge(used, {name: value}).reason
        result = judge(used, {name: value - 1})
        assert result.status == "finding"
        (finding,) = result.findings
        assert repr(name) in finding.what
        assert str(value) in finding.observed
        assert str(value - 1) in finding.expected
        assert finding.place.kernel == "spilling"
        assert finding.place.line == f"kernels.hip:{line}"
    waves = used.occupancy.waves
    assert judge(used, {"occupancy": waves}).status == "holds"
    assert judge(used, {"occupancy": waves + 1}).status == "finding"


def test_occupancy_finding_says_what_to_reach(tmp_path: Path) -> None:
    used = staged(tmp_path, "gfx1150", "many", 64)
    (finding,) = judge(used, {"occupancy": 10}).findings
    assert "limited by VGPRs" in finding.observed
    # 1024 registers over 10 waves, in granules of 16.
    assert "10 waves leave 96 VGPRs to each" in finding.hint
    (finding,) = judge(used, {"occupancy": 17}).findings
    assert "never holds more than 16" in finding.hint
    (finding,) = judge(staged(tmp_path, workgroup=32), {"occupancy": 4}).findings
    assert "less LDS a workgroup" in finding.hint


def test_several_limits_are_several_findings(tmp_path: Path) -> None:
    result = judge(staged(tmp_path), {"vgprs": 1, "lds": 100, "sgprs": None})
    assert [f.expected for f in result.findings] == ["at most 1 VGPRs", "at most 100 bytes of LDS"]


def test_no_limits_still_need_a_launch(tmp_path: Path) -> None:
    assert judge(staged(tmp_path), {}).status == "holds"
    (finding,) = judge(staged(tmp_path, workgroup=512), {}).findings
    assert "larger than the kernel was compiled for" in finding.what
    code = load(compiled(tmp_path, "gfx1151").data)
    used = measure(code, code.kernel("staged"), 256, dynamic_lds=65536)
    (finding,) = judge(used, {}).findings
    assert "more LDS than the target gives" in finding.what
    assert finding.observed == "85536 bytes"


def test_a_workgroup_that_fits_nowhere(tmp_path: Path) -> None:
    used = replace(staged(tmp_path), workgroup=1024, max_workgroup=1024)
    used = replace(used, occupancy=occupancy("gfx1151", 256, workgroup=1024))
    (finding,) = judge(used, {}).findings
    assert "not even one workgroup" in finding.what
    assert "32 waves" in finding.expected


ASSEMBLY = """\
.amdgcn_target "amdgcn-amd-amdhsa--gfx1151"
.text
.globl k
.type k,@function
k: s_endpgm
.size k, .-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_next_free_vgpr {allocated}
  .amdhsa_next_free_sgpr 8
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx1151
amdhsa.kernels:
  - {{.name: k, .symbol: k.kd, .kernarg_segment_size: 0, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .kernarg_segment_align: 4, .wavefront_size: 32, .sgpr_count: 8,
     .vgpr_count: {stated}, .max_flat_workgroup_size: 1024, .uses_dynamic_stack: {stack}}}
.end_amdgpu_metadata
"""


def by_hand(allocated: int, stated: int, stack: str = "false") -> Used:
    text = ASSEMBLY.format(allocated=allocated, stated=stated, stack=stack)
    code = load(assemble(text, target="gfx1151").data)
    return measure(code, code.kernel(), 64)


def test_the_descriptor_counts_and_not_the_metadata() -> None:
    used = by_hand(allocated=200, stated=8)
    assert used.occupancy is not None
    assert used.occupancy.waves == 7
    (finding,) = judge(by_hand(allocated=8, stated=200), {}).findings
    assert "fewer VGPRs" in finding.what


def test_registers_that_another_limit_leaves_over_are_no_limit() -> None:
    """LDS leaves 6 waves; the compiler, which knows, asks for all registers that 6 waves leave."""
    text = ASSEMBLY.format(allocated=240, stated=134, stack="false")
    code = load(assemble(text, target="gfx1151").data)
    used = measure(code, code.kernel(), 128, 20480)
    alone = occupancy("gfx1151", 134, lds=20480, workgroup=128)
    assert used.occupancy == replace(alone, registers=240)
    assert metrics(used)["limited by"] == alone.limit == "LDS and workgroup size"
    (finding,) = judge(used, {"occupancy": 8}).findings
    assert finding.hint == "less LDS a workgroup, or larger workgroups on the same LDS"
    less = measure(code, code.kernel(), 128, 8192)  # now the registers that were asked for do limit
    assert less.occupancy == occupancy("gfx1151", 240, lds=8192, workgroup=128)


def test_an_unbounded_stack_leaves_the_scratch_limit_open() -> None:
    used = by_hand(8, 8, stack="true")
    assert judge(used, {"vgprs": 8}).status == "holds"
    result = judge(used, {"scratch": 100})
    assert (result.status, result.findings) == ("undecided", ())
    assert "no upper bound" in result.reason
    assert metrics(used)["scratch bytes"] == "at least 0"


def test_an_unknown_target_is_undecided() -> None:
    result = judge(replace(by_hand(8, 8), target="gfx1030", occupancy=None), {"vgprs": 100})
    assert result.status == "undecided"
    assert "gfx1030" in result.reason


def test_the_worst_launch_counts(tmp_path: Path) -> None:
    code = load(compiled(tmp_path, "gfx1151").data)
    launches = [
        measure(code, code.kernel("staged"), n, lds) for n, lds in ((256, 0), (256, 30000), (64, 20000))
    ]
    assert worst(launches) is launches[2]
    impossible = measure(code, code.kernel("staged"), 256, 60000)
    assert worst([*launches, impossible]) is impossible


def test_the_check_reads_launch_and_limits_from_the_manifest(tmp_path: Path) -> None:
    """Every size of the case is bound; the smallest occupancy is judged."""

    def expression(text: str) -> Expression:
        return Expression(text, parse(text, ("T", "D")))

    code = load(compiled(tmp_path, "gfx1151").data)
    one = expression("1")
    case = KernelCase(
        name="staged", source=tmp_path / "kernels.hip", code_object=None, symbol="staged", flags=(), defines={},
        include=(), arches=("gfx1151",), grid=(one, one, one), block=(expression("T"), one, one),
        dynamic_lds=expression("D"), arguments=(), contract=NoContract(),
        sizes=({"T": 256, "D": 0}, {"T": 64, "D": 40000}), limits=Limits(occupancy=4),
    )  # fmt: skip
    subject = cast(Any, SimpleNamespace)(
        case=case,
        code=code,
        kernel=code.kernel("staged"),
        binding=bind(case, case.sizes[0]),
        sizes=case.sizes[0],
    )
    result = CHECK.run(cast(Subject, subject))
    # Two workgroups of two waves on the 128 KiB of a WGP's four SIMDs.
    assert result.metrics["waves per SIMD"] == 1
    assert result.status == "finding"
    assert CHECK.per_size is False
