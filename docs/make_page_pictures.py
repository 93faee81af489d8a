"""Takes the pictures of pages that the documents show, with the browser that tests them.

python docs/make_page_pictures.py    writes docs/images/*.webp; needs Debian's chromium and chromium-driver
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser.browsing import resize, started  # noqa: E402

from layoutprobe.cli.main import main  # noqa: E402

IMAGES = ROOT / "docs" / "images"
BUGGY = ["inspect", str(ROOT / "probes/gemm/seeds/buggy.toml"), "--kernel", "asmOpt-column"]
FAULTS = ["inspect", str(ROOT / "docs/gemm64.toml"), "--kernel"]
PICTURES = {
    "page.webp": (BUGGY, 1320, 1000, False, ""),
    "faults-swizzle.webp": ([*FAULTS, "swizzle"], 1320, 1300, False, ""),
    "lds.webp": ([*FAULTS, "swizzle"], 1320, 800, False, ".lds"),
    "faults-barrier.webp": ([*FAULTS, "barrier"], 1320, 1300, True, ""),
    "faults-columns.webp": ([*FAULTS, "columns"], 1320, 1300, False, ""),
    "faults-epilogue.webp": ([*FAULTS, "epilogue"], 1320, 1450, False, ""),
    "faults-tail.webp": ([*FAULTS, "tail"], 390, 1500, False, ""),
}
"""File name -> command that writes the page, width and height in pixels, dark, and what is scrolled to."""


def take() -> None:
    """Take them all."""
    with tempfile.TemporaryDirectory() as folder, started(Path(folder) / "profile") as chrome:
        for name, (command, width, height, dark, at) in PICTURES.items():
            page = Path(folder) / f"{name}.html"
            main([*command, "--output", str(page)])
            resize(chrome, width, height, dark=dark)
            chrome.get(page.as_uri())
            if at:
                chrome.execute_script(f"document.querySelector('{at}').scrollIntoView()")
            picture = chrome.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": 85})
            (IMAGES / name).write_bytes(base64.b64decode(picture["data"]))


if __name__ == "__main__":
    take()
