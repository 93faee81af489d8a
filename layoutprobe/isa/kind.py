"""What kind of instruction a mnemonic names, from one table.

A kind is a set: `ds_load_b128` is LDS and LOAD, `s_barrier` both ARRIVE and AWAIT. The table knows the
names of RDNA (`ds_load_b32`) and of CDNA (`ds_read_b32`). It says what an instruction is for, and nothing
of how it is executed.
"""

from __future__ import annotations

from enum import Flag, auto
from functools import cache

from layoutprobe.arch import is_matrix


class Kind(Flag):
    """What an instruction is; see the module."""

    VALU = auto()
    """Vector arithmetic, matrix instructions included."""
    MATRIX = auto()
    SALU = auto()
    LDS = auto()
    """Goes to LDS; without LOAD, STORE or ATOMIC it only passes values between lanes."""
    GLOBAL = auto()
    """Global memory by address."""
    BUFFER = auto()
    """Global memory through a buffer resource."""
    SCRATCH = auto()
    FLAT = auto()
    """The address decides: global memory, LDS or scratch."""
    SMEM = auto()
    """Scalar memory."""
    LOAD = auto()
    STORE = auto()
    ATOMIC = auto()
    """A read-modify-write: no load and no store."""
    TRANSPOSE = auto()
    """A load whose lanes exchange what they read."""
    CACHE = auto()
    """Cache control."""
    ARRIVE = auto()
    """Tells the workgroup's barrier that the wave is there."""
    AWAIT = auto()
    """Waits at the workgroup's barrier."""
    WAIT = auto()
    """Waits for a counter."""
    BRANCH = auto()
    """May jump to the address in its operand."""
    JUMP = auto()
    """Goes to the address in its scalar registers: a call, or the return from one."""
    END = auto()
    """Ends the wave."""
    FINAL = auto()
    """Control never goes on to the next instruction."""
    HINT = auto()
    """Changes nothing that a program can observe."""

    # Asked millions of times in one check: Flag's own operators take five times as long.
    def __contains__(self, other: Kind) -> bool:
        wanted: int = other._value_
        return bool(self._value_ & wanted == wanted)

    def __and__(self, other: Kind) -> Kind:
        return _kind_with(self._value_ & other._value_)

    def __or__(self, other: Kind) -> Kind:
        return _kind_with(self._value_ | other._value_)

    def __bool__(self) -> bool:
        return bool(self._value_)


_known: dict[int, Kind] = {}


def _kind_with(bits: int) -> Kind:
    found = _known.get(bits)
    if found is None:
        found = _known[bits] = Kind(bits)
    return found


MOVES = Kind.LOAD | Kind.STORE | Kind.ATOMIC
"""What accesses memory."""
HINTS = (
    "s_nop", "s_clause", "s_delay_alu", "s_sleep", "s_sleep_var", "s_setprio", "s_set_inst_prefetch_distance",
    "s_sethalt", "s_code_end", "s_ttracedata", "s_ttracedata_imm", "s_incperflevel", "s_decperflevel",
    "s_icache_inv", "s_wakeup", "s_prefetch_inst", "s_prefetch_inst_pc_rel", "s_prefetch_data",
    "s_prefetch_data_pc_rel", "s_buffer_prefetch_data",
)  # fmt: skip

_K = Kind
_NAMES: dict[str, Kind] = {
    **dict.fromkeys(HINTS, _K.HINT),
    "s_barrier": _K.ARRIVE | _K.AWAIT,
    "s_barrier_signal": _K.ARRIVE,
    "s_barrier_signal_isfirst": _K.ARRIVE,
    "s_barrier_wait": _K.AWAIT,
    **dict.fromkeys(("s_cbranch_g_fork", "s_cbranch_i_fork", "s_cbranch_join"), _K.SALU),  # fork the wave
    "s_branch": _K.BRANCH | _K.FINAL,
    "s_endpgm": _K.END | _K.FINAL,
    "s_endpgm_saved": _K.END | _K.FINAL,
    "s_swappc_b64": _K.SALU | _K.JUMP,
    "s_setpc_b64": _K.SALU | _K.JUMP | _K.FINAL,
    "s_trap": _K.FINAL,  # behind one that ends the function, compilers put nothing, or an s_endpgm
    "ds_nop": _K.LDS | _K.HINT,
}
_PREFIXES: tuple[tuple[tuple[str, ...], Kind], ...] = (
    (("v_wmma_", "v_swmmac_", "v_mfma_", "v_smfmac_"), _K.MATRIX | _K.VALU),
    (("v_",), _K.VALU),
    (("s_cbranch_",), _K.BRANCH),
    (("s_wait",), _K.WAIT),
    (("s_load_", "s_buffer_load_", "s_scratch_load_"), _K.SMEM | _K.LOAD),
    (("s_store_", "s_buffer_store_", "s_scratch_store_"), _K.SMEM | _K.STORE),
    (("s_atomic_", "s_buffer_atomic_"), _K.SMEM | _K.ATOMIC),
    (("s_dcache_", "s_gl1_inv"), _K.SMEM | _K.CACHE),
    (("s_",), _K.SALU),
    (("ds_read_b64_tr_", "ds_read_b96_tr_"), _K.LDS | _K.LOAD | _K.TRANSPOSE),
    (("ds_load_", "ds_read_", "ds_read2"), _K.LDS | _K.LOAD),
    (("ds_store_", "ds_write_", "ds_write2"), _K.LDS | _K.STORE),
    (
        (
            "ds_bpermute_",
            "ds_permute_",
            "ds_swizzle_",
            "ds_bvh_",
            "ds_gws_",
            "ds_param_load",
            "ds_direct_load",
        ),
        _K.LDS,
    ),
    (("ds_",), _K.LDS | _K.ATOMIC),
    (("global_load_tr_",), _K.GLOBAL | _K.LOAD | _K.TRANSPOSE),
    (("buffer_gl", "buffer_wb", "buffer_inv"), _K.BUFFER | _K.CACHE),
    (("global_inv", "global_wb"), _K.GLOBAL | _K.CACHE),
)
"""The first row whose prefix fits decides; whole names come before."""
_SPACES = {
    "global": _K.GLOBAL, "flat": _K.FLAT, "scratch": _K.SCRATCH, "buffer": _K.BUFFER, "tbuffer": _K.BUFFER,
}  # fmt: skip
_ACTIONS = {"load": _K.LOAD, "store": _K.STORE, "atomic": _K.ATOMIC}


@cache
def kind_of(name: str) -> Kind:
    """The kind of a mnemonic as `Inst.name` has it; empty where the table knows nothing of it."""
    if name in _NAMES:
        return _NAMES[name]
    if is_matrix(name):
        return Kind.MATRIX | Kind.VALU
    for prefixes, kind in _PREFIXES:
        if name.startswith(prefixes):
            return kind
    space, _, rest = name.partition("_")
    action = rest.partition("_")[0]
    return _SPACES.get(space, Kind(0)) | _ACTIONS.get(action, Kind(0))
