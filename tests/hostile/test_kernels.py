"""Kernels that never end, reach anywhere, or ask for more than there is.

All go through one process of `layoutprobe check` that has 2 GiB. Each one must come to a clear end:
a finding, or a reason why nothing could be decided.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile.limited import Outcome, checked

DEFAULTS = """\
[defaults]
source = "kernels.hip"
contract = { kind = "none" }
grid = 1
block = 64
sizes = [{ n = 64 }]
limits = { instructions = 3000 }
argument = [{ name = "y", role = "inout", dtype = "i32", shape = ["n"], initial = "zero" }]
"""
ENDLESS = "did not end within 3000 instructions"
UNDECIDED = {
    "spin": ENDLESS,
    "sleeps": ENDLESS,
    "jumps_to_itself": ENDLESS,
    "barrier_never_reached": ENDLESS,
    "barrier_for_ever": ENDLESS,
    "jumps_into_data": "into the middle of code",  # or of a function that the emulator does not know
}
"""Symbol -> why its checks cannot decide."""
FOUND = {
    "null_store": "outside every allocation",
    "wild_load": "outside every allocation",
    "wild_store": "outside every allocation",
    "own_code": "which is read-only",
    "jumps_away": "to where no code is",
}
"""Symbol -> what `memory` finds."""
REFUSED = {
    "falls_off": ("", "control flow leaves the code"),
    "grid of 2^64": (
        'symbol = "fills"\ngrid = ["n << 25", "n << 25", "2"]',
        "a grid of 9223372036854775808 workgroups",
    ),
    "grid of 2^31 in x": ('symbol = "fills"\ngrid = "1 << 31"', "a grid of 2147483648 workgroups"),
    "dynamic LDS": ('symbol = "fills"\ndynamic_lds = 1048576', "1048576 bytes of LDS"),
    "block": ('symbol = "fills"\nblock = [1024, 1024]', "a workgroup of 1048576 work-items"),
}
"""Name -> further keys, and the error of its verdict."""
SLOW = {
    "many workgroups": (
        'symbol = "fills"\ngrid = "n << 18"\nlimits = { seconds = 2 }',
        "did not end within 2 seconds",
    ),
    "large stacks": ('symbol = "large_stack"\nblock = 1024', "did not end within"),
}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "kernels.hip").write_bytes((Path(__file__).parent / "kernels.hip").read_bytes())
    keys = {name: f'symbol = "{name}"' for name in (*UNDECIDED, *FOUND)}
    keys |= {name: more or f'symbol = "{name}"' for name, (more, _) in (REFUSED | SLOW).items()}
    tables = [f'[[kernel]]\nname = "{name.replace("^", "_")}"\n{text}' for name, text in keys.items()]
    (folder / "layoutprobe.toml").write_text("\n\n".join([DEFAULTS, *tables]))
    return checked(folder / "layoutprobe.toml", "--format", "json")


@pytest.mark.long
def test_all_have_a_verdict(outcome: Outcome) -> None:
    assert outcome.code == 1
    assert len(outcome.report["kernels"]) == len(UNDECIDED | FOUND | REFUSED | SLOW)


@pytest.mark.parametrize("name", [*UNDECIDED, *SLOW])
def test_what_does_not_end_is_undecided(outcome: Outcome, name: str) -> None:
    kernel = outcome.kernel(name)
    reason = UNDECIDED.get(name) or SLOW[name][1]
    asked = {r["check"]: r for r in kernel["checks"]}
    assert not any(r["findings"] for r in asked.values())
    assert asked["memory"]["status"] == "undecided"
    assert reason in asked["memory"]["reason"]
    assert "kernels.hip:" in asked["memory"]["reason"], "with its line"


@pytest.mark.parametrize("name", FOUND)
def test_wild_pointers_are_found(outcome: Outcome, name: str) -> None:
    (memory,) = [r for r in outcome.kernel(name)["checks"] if r["check"] == "memory"]
    (finding,) = memory["findings"]
    assert FOUND[name] in finding["what"]


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_launched_is_refused(outcome: Outcome, name: str) -> None:
    assert REFUSED[name][1] in outcome.kernel(name.replace("^", "_"))["error"]
