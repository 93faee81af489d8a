"""CDNA2, of which only what a code object alone tells is known here, CDNA3 and CDNA4."""

from __future__ import annotations

from collections.abc import Mapping

from layoutprobe.arch import gfx9, gfx9_hazards, mfma
from layoutprobe.arch.base import Arch
from layoutprobe.arch.isa import LAUNCH, Isa
from layoutprobe.arch.lds import PLAIN_READS, TRANSPOSING_READS, LdsModel, LdsRead, Phases, lanes, runs
from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.arch.registers import KIB, Resources, VgprFile


def _resources(lds: int) -> Resources:
    """VGPRs and AccVGPRs of a wave64 together are at most 512; AccVGPRs begin at a multiple of four."""
    return Resources(
        {64: VgprFile(512, 8, 8)},
        max_waves=8,
        addressable=256,
        unit="CU",
        simds=4,
        lds=lds,
        barriers=16,
        accvgpr_granule=4,
        sgpr_steps=((100, 8),),
    )


# LDS phases, measured by latency on cards (SHARK, docs/empirical-lds)


def _both_halves(half: Phases) -> Phases:
    """The same for lanes 32 to 63."""
    return half + tuple(tuple(32 + lane for lane in phase) for phase in half)


_CROSSED = (
    lanes((0, 3), (20, 23)),
    lanes((4, 7), (16, 19)),
    lanes((8, 11), (28, 31)),
    lanes((12, 15), (24, 27)),
)
_WIDE = (lanes((0, 3), (12, 15), (20, 27)), lanes((4, 11), (16, 19), (28, 31)))


_NARROW = (1, 2, 4)
_LOADS_942 = {
    **dict.fromkeys(_NARROW, runs(64, 32)),
    8: runs(64, 16),
    **dict.fromkeys((12, 16), _both_halves(_CROSSED)),
}
_LOADS_950 = {
    **dict.fromkeys(_NARROW, runs(64, 64)),
    8: runs(64, 32),
    **dict.fromkeys((12, 16), _both_halves(_WIDE)),
}
_STORES_942 = _LOADS_942 | dict.fromkeys((12, 16), runs(64, 8))


def _sources(name: str, of_stores: str) -> dict[str, str]:
    return {
        "banks": "SHARK, docs/empirical-lds",
        "loads": f"b32, b64 and b128 measured by latency on {name} (SHARK, docs/empirical-lds), b128 also as Triton "
        "states it (pull request 11365); b96 as b128 and narrower as b32: assumed",
        "stores": of_stores,
    }


def _evidence(name: str) -> str:
    return f"model: phases of loads measured on {name}; those of stores are assumed"


_GFX942 = LdsModel(
    wave=64,
    banks=32,
    loads=_LOADS_942,
    stores=_STORES_942,
    evidence=_evidence("gfx942"),
    sources=_sources(
        "gfx942", "b96 and b128: 8 consecutive lanes, as kernel authors state; others as loads: assumed"
    ),
)
_RIVAL_950 = LdsModel(
    wave=64,
    banks=64,
    loads=_LOADS_950 | dict.fromkeys(_NARROW, runs(64, 32)),
    stores=_STORES_942,
    evidence="stores and loads of at most 4 bytes see 32 banks (rocm-libraries, pull request 3668)",
    sources={
        "banks": "rocm-libraries, pull request 3668: a reviewer's words; phases then as on gfx942: assumed"
    },
    narrow={**{(False, size): 32 for size in _NARROW}, **{(True, size): 32 for size in _STORES_942}},
)
_GFX950 = LdsModel(
    wave=64,
    banks=64,
    loads=_LOADS_950,
    stores=_LOADS_950,
    evidence=_evidence("gfx950"),
    sources=_sources("gfx950", "assumed as loads"),
    rival=_RIVAL_950,
)


def _isa(
    title: str,
    prefix: str,
    generic: tuple[str, ...],
    absent: frozenset[str],
    matrix: Mapping[str, MatrixForm],
    *,
    fnuz: bool,
) -> Isa:
    return Isa(
        title=title,
        encodings=gfx9.encodings(absent, fnuz=fnuz),
        prefixes=(prefix,),
        generic=generic,
        counting=gfx9.COUNTING,
        # A kernel that has its arguments preloaded begins with code that loads them itself, for firmware
        # that does not preload: so it is launched like all others.
        launch=LAUNCH,
        matrix=matrix,
        split_barrier=False,
        hazards=gfx9_hazards.hazards(longer=not fnuz),
    )


CDNA3 = _isa("CDNA3", "gfx94", ("gfx9-4-generic",), gfx9.ABSENT_942, mfma.CDNA3, fnuz=True)
CDNA4 = _isa("CDNA4", "gfx95", (), gfx9.ABSENT_950, mfma.CDNA4, fnuz=False)


def _target(
    name: str,
    product: str,
    lds: int,
    model: LdsModel,
    isa: Isa | None = None,
    transposing: tuple[LdsRead, ...] = (),
    *,
    unit: int,
) -> Arch:
    return Arch(
        name=name,
        product=product,
        wave_size=64,
        lds_bytes=lds,
        resources=_resources(lds),
        lds=model,
        reads=transposing + PLAIN_READS,
        isa=isa,
        matrix=isa.matrix if isa else {},
        probed=mfma.probed(isa.matrix) if isa else (),
        probes="cdna/" if isa else "",
        emulated=isa is not None,
        facts_only=isa is None,
        tile_units={"amd_mfma": unit},
        sources={
            "matrix": "see arch/mfma.py; mnemonics: clang 22.1.8 assembles them",
            "lds_bytes": "clang 22.1.8 refuses one byte more",
            "resources": "LLVM 22, AMDGPUBaseInfo.cpp and GCNProcessors.td",
            "tile_units": "Triton 3.9, gluon's AMDMFMALayout",
        },
    )


TARGETS = (
    _target("gfx90a", "CDNA2, MI200", 64 * KIB, LdsModel(64, 32, {"banks": "assumed as on gfx942"}), unit=2),
    _target("gfx942", "CDNA3, MI300", 64 * KIB, _GFX942, CDNA3, unit=3),
    _target("gfx950", "CDNA4, MI350", 160 * KIB, _GFX950, CDNA4, TRANSPOSING_READS, unit=4),
)
