"""Optional parts register themselves, and nothing of the core knows them."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from layoutprobe import plugins
from layoutprobe.errors import UsageError

PACKAGE = Path(__file__).resolve().parents[2] / "layoutprobe"
ASKS = """
import sys
from layoutprobe import arch, instructions
from layoutprobe.backends.source import backend_names
assert not any("extras" in name for name in sys.modules), "a part is imported before anybody asks"
arch.find("gfx1151")
assert not any("extras" in name for name in sys.modules), "a known name asks no part"
print(arch.find("sm_90").product, *backend_names())
"""


def test_a_part_is_loaded_when_a_name_is_not_known() -> None:
    done = subprocess.run([sys.executable, "-c", ASKS], capture_output=True, text=True)
    assert done.stdout.split() == ["NVIDIA", "Hopper,", "H100", "and", "H200", "emulator", "hip", "cuda"], (
        done.stderr
    )


def test_the_core_names_no_part() -> None:
    core = [p for p in PACKAGE.rglob("*.py") if p.relative_to(PACKAGE).parts[0] not in ("extras", "cli")]
    assert [p for p in core if "layoutprobe.extras." in p.read_text("utf-8")] == []


def test_a_broken_part_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("mine", "no_such_module:register", plugins.GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [broken])
    plugins.load.cache_clear()
    try:
        with pytest.raises(UsageError, match="optional part 'mine' cannot be loaded") as caught:
            plugins.load()
    finally:
        plugins.load.cache_clear()
        monkeypatch.undo()
    assert "no_such_module" in str(caught.value)
