"""A real browser for the tests of pages: Debian's chromium, driven by selenium."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

NEEDS = "the browser tests need Debian's packages chromium and chromium-driver: apt-get install them"
OPTIONS = (
    "--headless",
    "--no-sandbox",  # a container's root has no other way
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


@contextmanager
def started(profile: Path, *more: str) -> Iterator[webdriver.Chrome]:
    """A browser with a fresh profile; fails where there is none."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.fail(NEEDS)
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for option in (*OPTIONS, f"--user-data-dir={profile}", *more):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield chrome
    finally:
        chrome.quit()


def requests_of(chrome: webdriver.Chrome) -> list[str]:
    """What was asked of anybody since the last call: addresses; data of the page itself is none."""
    messages = (json.loads(entry["message"])["message"] for entry in chrome.get_log("performance"))  # type: ignore[no-untyped-call]
    sent = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [url for url in sent if not url.startswith("data:")]


def complaints_of(chrome: webdriver.Chrome) -> list[str]:
    """What stands in the console since the last call."""
    entries: list[dict[str, Any]] = chrome.get_log("browser")  # type: ignore[no-untyped-call]
    return [str(entry["message"]) for entry in entries]


def resize(chrome: webdriver.Chrome, width: int, height: int, *, dark: bool = False) -> None:
    """The size of the page's window, in CSS pixels, and the reader's theme."""
    chrome.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    chrome.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]},
    )
