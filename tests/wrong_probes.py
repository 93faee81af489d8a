"""The shipped probes with an edit in one of them, as a kernel author could have made it."""

from __future__ import annotations

import shutil
from pathlib import Path

from layoutprobe.assets import asset_dir


def edited(folder: Path, file: str, old: str, new: str) -> Path:
    """A copy of all probes below `folder`; returns its directory.

    A copy that an earlier edit left there is mended first: the probes that no edit touches lie where they lay,
    and the compiler's cache has them. (Edit interaction.hip in a folder of its own: a process builds it once
    for each path.)

    Args:
        folder: where the copy goes.
        file: below probes/.
        old, new: the edit; `old` stands in the file exactly once.
    """
    probes = folder / "probes"
    shutil.copytree(asset_dir("probes"), probes, dirs_exist_ok=True)
    source = probes / file
    text = source.read_text()
    found = text.count(old)
    assert found == 1, f"the text to edit stands {found} times in {source.name}: {old!r}"
    source.write_text(text.replace(old, new))
    return probes
