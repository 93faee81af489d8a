"""What an error offers instead of a name that nobody knows."""

from __future__ import annotations

from layoutprobe.errors import did_you_mean, one_of

FORMS = [f"v_mfma_f32_32x32x64_f8f6f4 cbsz:{a} blgp:{b}" for a in range(5) for b in range(5)]
OTHERS = [f"v_mfma_f32_32x32x{k}_{a}_{b}" for k in (8, 16) for a in ("fp8", "bf8") for b in ("fp8", "bf8")]


def test_the_beginning_counts_more_than_the_end() -> None:
    asked = "v_mfma_f32_32x32x64_f8f6f4 fp8,fp8"
    assert did_you_mean(asked, [*OTHERS, *FORMS]) == f"did you mean {FORMS[0]}?"
    told = one_of(asked, [*OTHERS, *FORMS])
    assert told.startswith(f"one of 33, such as: {FORMS[0]}, ")
    assert told.count("cbsz") == 8


def test_a_short_list_is_told_whole() -> None:
    assert one_of("races", ["memory", "waits"]) == "one of: memory, waits"


def test_nothing_like_it_is_no_hint() -> None:
    assert did_you_mean("zzz", FORMS) is None
    assert did_you_mean(7, FORMS) is None
    assert one_of("zzz", [*OTHERS, *FORMS]).endswith(OTHERS[7]), "the first ones, then"


def test_letters_in_wrong_order() -> None:
    assert did_you_mean("gird", ["grid", "block", "sizes"]) == "did you mean grid?"
