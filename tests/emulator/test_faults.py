"""What goes wrong ends in an error that says what, where, and what to do; never in a traceback."""

from __future__ import annotations

import numpy as np
import pytest
from emulator.lab import LANES, assembled, compiled, fault, fresh, launch, outputs, words
from msgspec.structs import replace

from layoutprobe.errors import CodeObjectError


def run(kernel: str, *args: object, **options: object) -> object:
    return launch(compiled("faults"), list(args), kernel=kernel, **options)  # type: ignore[arg-type]


# Global memory.


def test_one_element_past_the_end() -> None:
    data = words(1, 20)
    assert np.array_equal(
        outputs(compiled("faults"), [data, fresh(20), np.int32(19)], kernel="past_the_end")[1], data
    )
    error = fault(lambda: run("past_the_end", data, fresh(64), np.int32(20)), "outside every allocation")
    assert error.where["kernel"] == "past_the_end"
    assert str(error.where["line"]) == "faults.hip:9"
    assert error.where["instruction"] == "global_load_b32"
    assert (error.where["workgroup"], error.where["wave"], error.where["lane"]) == ((0, 0, 0), 0, 20)
    assert "buffer in (80 bytes)" in (error.expected or "")
    assert (error.observed or "").endswith("0 bytes past its end")


def test_the_lane_is_counted_within_its_wave() -> None:
    error = fault(
        lambda: run("past_the_end", words(1, 100), fresh(200), np.int32(120), block=(128,)), "outside every"
    )
    assert (error.where["wave"], error.where["lane"]) == (3, 4)


def test_a_store_past_the_end_names_the_buffer() -> None:
    error = fault(
        lambda: run("past_the_end", words(1, 64), fresh(12), np.int32(30)), "outside every allocation"
    )
    assert error.where["instruction"] == "global_store_b32"
    assert "buffer out (48 bytes)" in (error.expected or "")


def test_before_the_start() -> None:
    error = fault(lambda: run("negative", words(1, 64), fresh(64)), "outside every allocation")
    assert (error.observed or "").endswith("32 bytes before its start")
    assert error.where["lane"] == 0


@pytest.mark.parametrize(
    "pointer", [0, 8, 0xFFFF_FFFF_FFFF_FFF0, 0x7FFF_FFFF_FFFF_FFFF, 1 << 47, 0x4A00_0000_0000]
)
def test_null_and_wild_pointers(pointer: int) -> None:
    error = fault(lambda: run("through_null", np.uint64(pointer)), "outside every allocation")
    assert f"address {pointer:#x}" in (error.observed or "")
    assert error.where["line"] == "faults.hip:18"


def test_wide_accesses_must_lie_inside_as_a_whole() -> None:
    code = assembled("v_lshlrev_b32 v1, 4, v0\n global_load_b128 v[4:7], v1, s[4:5] offset:8", pointers=1)
    error = fault(lambda: launch(code, [words(2, 4 * LANES)]), "global access of 16 bytes outside")
    assert error.where["lane"] == 31
    assert "starts 8 bytes before its end" in (error.observed or "")


def test_scalar_loads_are_checked_too() -> None:
    code = assembled("s_load_b64 s[10:11], s[4:5], 0x7c\n s_waitcnt lgkmcnt(0)", pointers=1)
    error = fault(lambda: launch(code, [words(2, LANES)]), "global access of 8 bytes outside")
    assert error.where["instruction"] == "s_load_b64"


def test_buffers_do_not_touch() -> None:
    """An index that runs off one buffer lands in no other."""
    code = assembled("v_mov_b32 v2, 1\n global_store_b32 v1, v2, s[4:5] offset:2048")
    fault(lambda: launch(code, [fresh(512), fresh(4096)]), "outside every allocation")


def test_code_cannot_be_written() -> None:
    error = fault(lambda: run("into_code", fresh(64)), "store into the code object at .*read-only")
    assert error.where["kernel"] == "into_code"
    assert str(error.where["line"]).startswith("faults.hip:")


@pytest.mark.parametrize(
    "store",
    [
        "global_store_b32 v[2:3], v0, off",
        "global_store_b8 v[2:3], v0, off",
        "flat_store_b32 v[2:3], v0",
        "global_atomic_add_u32 v[2:3], v0, off",
    ],
)
def test_no_kind_of_store_may_hit_the_arguments(store: str) -> None:
    code = assembled(f"v_mov_b32 v2, s0\n v_mov_b32 v3, s1\n {store}", pointers=1)
    fault(lambda: launch(code, [fresh(64)]), "store into the kernel arguments, which is read-only")


def test_constants_cannot_be_written() -> None:
    code = compiled("launch")
    error = fault(
        lambda: launch(code, [words(1, LANES), np.int32(0)], kernel="store_constant"), "which is read-only"
    )
    assert error.where["line"] == "launch.hip:70"


# LDS.


def test_lds_past_the_end_names_the_line() -> None:
    error = fault(
        lambda: run("shared_past_the_end", words(1, 64), fresh(64), np.int32(5), block=(64,)),
        "LDS access of 4",
    )
    assert error.where["line"] == "faults.hip:14"
    assert (error.where["wave"], error.where["lane"]) == (0, 13)
    assert error.observed == "byte address 260"
    assert error.expected == "byte addresses below 256"


# Endings.


def test_an_endless_loop_ends_with_a_located_error() -> None:
    error = fault(lambda: run("endless", np.zeros(4, np.uint32), budget=20_000), "did not end within 20000")
    assert error.where["kernel"] == "endless"
    assert error.where["line"] in ("faults.hip:25", "faults.hip:26")
    assert error.hint


def test_the_budget_is_for_the_launch_not_for_a_batch() -> None:
    code = compiled("launch")
    few = [fresh(64 * 2000), np.int32(64 * 2000)]
    launch(code, few, kernel="many", grid=(2000,), block=(64,), budget=1000)
    fault(
        lambda: launch(code, few, kernel="many", grid=(2000,), block=(64,), budget=50), "did not end within"
    )


def test_a_trap_is_an_error() -> None:
    data = np.arange(10, 74, dtype=np.uint32)
    assert np.array_equal(outputs(compiled("faults"), [data, fresh(64)], kernel="trap", block=(64,))[1], data)
    data[40] = 3
    error = fault(lambda: run("trap", data, fresh(64), block=(64,)), "the kernel traps")
    assert str(error.where["line"]).startswith("faults.hip:")


# What cannot be executed.


def test_unknown_instructions_are_listed_before_anything_runs() -> None:
    body = """
      global_store_b32 v1, v0, s[4:5]
      ds_gws_init v0 gds
      ds_gws_sema_p gds
      s_nop 0
      s_rfe_b64 s[6:7]
    """
    code = assembled(body, pointers=1)
    out = np.zeros(LANES, np.uint32)
    error = fault(lambda: launch(code, [out]), "does not know these instructions")
    lines = error.what.splitlines()[1:]
    assert len(lines) == 3
    for line, name, at in zip(
        lines, ("ds_gws_init", "ds_gws_sema_p", "s_rfe_b64"), (13, 14, 16), strict=True
    ):
        assert line.strip().startswith(f"{name} at PC 0x")
        assert f"kernel.s:{at}" in line
    assert error.where == {"kernel": "k"}


@pytest.mark.parametrize(
    "body",
    [
        "s_sendmsg sendmsg(MSG_INTERRUPT)",
        "s_round_mode 0x3",
        "s_denorm_mode 0x0",
        "buffer_load_b32 v2, v0, s[4:7], 0 idxen",
        "ds_load_b32 v2, v1 gds",
    ],
)
def test_forms_without_semantics_are_refused_by_name(body: str) -> None:
    error = fault(lambda: launch(assembled(body, pointers=1), [fresh(4)]), "does not know these instructions")
    assert body.split()[0] in error.what


def test_printf_and_hostcalls_are_named_where_they_fault() -> None:
    """Kernels compiled without optimisation ask for the hostcall buffer and never use it; so it is a null
    pointer, and who does use it learns why."""
    error = fault(lambda: run("hostcall", fresh(64)), "outside every allocation")
    assert "address 0x0:" in (error.observed or "")
    assert "hidden_hostcall_buffer" in (error.hint or "")
    assert "printf" in (error.hint or "")
    assert "hostcall" not in (fault(lambda: run("through_null", np.uint64(0)), "outside every").hint or "")


def test_code_without_optimisation_gives_the_same_answers() -> None:
    """-O0 keeps every variable in scratch, behind flat pointers."""
    code = compiled("divergence", "-O0")
    data = words(3, 512)
    got = outputs(code, [data, np.full(512, 7, np.uint32)], kernel="switches", block=(96,))[1]
    optimised = outputs(
        compiled("divergence"), [data, np.full(512, 7, np.uint32)], kernel="switches", block=(96,)
    )[1]
    assert np.array_equal(got, optimised)


def test_registers_that_the_descriptor_does_not_give_are_refused() -> None:
    code = assembled("v_mov_b32 v127, v0\n global_store_b32 v1, v127, s[4:5]", pointers=1)
    kernel = code.kernels["k"]
    small = replace(kernel, descriptor=replace(kernel.descriptor, rsrc1=kernel.descriptor.rsrc1 & ~63 | 3))
    assert outputs(code, [fresh(LANES)])[0].tolist() == list(range(LANES))
    with pytest.raises(CodeObjectError, match="register that the kernel does not have"):
        launch(replace(code, digest="small", kernels={"k": small}), [fresh(LANES)])
