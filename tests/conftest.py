"""Options and profiles of the whole suite.

Tests under tests/oracle_shared/ compare with material that a fresh clone does not have. They run
only with `pytest --shared=DIR` (with "=": pytest takes a word of its own for a test path), and then
nothing in them may be skipped: a missing directory, a missing file or a skip is a failure, because
an oracle that may stay silent is no oracle.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from examples import THOROUGH, WHOLE
from hypothesis import settings
from sampling import SAMPLE, bounded, sampled

from layoutprobe.cli import check as command
from layoutprobe.toolchain.cache import ENVIRONMENT

# Slow shared machines must not fail a property; in CI the same examples run every time. The profile
# "thorough" tries many more, new ones each time: HYPOTHESIS_PROFILE=thorough pytest tests/oracle
settings.register_profile(
    "quick", deadline=None, derandomize=bool(os.environ.get("CI")), max_examples=100 if WHOLE else 25
)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# Workers and what they start inherit this. Threads of BLAS would take the cores from each other; and where Python
# keeps nothing that it has compiled, each of some thousand processes would compile the package anew.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

BOUNDED = "LAYOUTPROBE_TESTS_BOUNDED"
"""Set for the workers where no test in particular and not every case was asked for."""
BROWSER_DIR = Path(__file__).parent / "browser"
BROWSER = "browser"
ORACLE_DIR = Path(__file__).parent / "oracle_shared"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shared",
        metavar="DIR",
        default=None,
        help="directory with the facts and oracle tables; without it tests/oracle_shared/ is not collected",
    )
    parser.addoption(
        "--every-case", action="store_true", help="with CI=true: no sample of tests whose cases take long"
    )


def pytest_configure(config: pytest.Config) -> None:
    # What is told of a wrong kernel's cause takes the command up to half a minute; tests of that ask for it.
    command.EDITS = 0
    # What is imported and collected stays: Python need not look through it for garbage again and again.
    gc.set_threshold(50_000, 20, 50)
    # A shell starts what it puts in the background with SIGINT ignored, and so do some CI systems; all
    # children inherit that. What the tests say about Ctrl-C must hold there too.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "long: plain `pytest` leaves it out, but in CI and when thorough")
    config.addinivalue_line("markers", "few(count): plain `pytest` takes so many of its cases")
    config.addinivalue_line("markers", "every_case: plain `pytest` takes no sample of its cases")
    config.addinivalue_line("markers", "all_in_ci: CI takes no sample of its cases, however long they take")
    config.addinivalue_line("markers", f"{BROWSER}: needs chromium; collected where -m asks for it")
    if not hasattr(config, "workerinput"):
        named = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
        plain = not named and not config.getoption("--every-case")
        os.environ[SAMPLE] = "1" if plain and not WHOLE else ""
        os.environ[BOUNDED] = "1" if plain and THOROUGH == 1 else ""
    given = config.getoption("--shared")
    if given is not None and not Path(given).is_dir():
        raise pytest.UsageError(f"--shared {given}: no such directory")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if config.getoption("--shared") is None and collection_path.is_relative_to(ORACLE_DIR):
        return True
    if not _in_browser(config) and collection_path.is_relative_to(BROWSER_DIR):
        return True
    return None


def _in_browser(config: pytest.Config) -> bool:
    """Tests of pages were asked for: nobody needs a browser for the others."""
    return BROWSER in config.getoption("markexpr")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get(BOUNDED):
        chosen = sampled(items) if os.environ.get(SAMPLE) else bounded(items)
        kept = set(chosen)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = chosen


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not _in_browser(config):
        terminalreporter.write_line(
            f"left out: pages in a browser (pytest -m {BROWSER}; needs chromium and chromium-driver)"
        )
    if os.environ.get(BOUNDED):
        terminalreporter.write_line(
            "a sample of the tests: CI=true pytest --every-case runs every case, see tests/README.md"
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and item.path.is_relative_to(ORACLE_DIR):
        report.outcome = "failed"
        report.longrepr = f"an oracle test may not be skipped: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def shared_dir(request: pytest.FixtureRequest) -> Path:
    """The directory given with --shared."""
    given = request.config.getoption("--shared")
    if given is None:
        pytest.fail("this test needs --shared DIR")
    return Path(given).resolve()


@pytest.fixture(scope="session")
def shared_file(shared_dir: Path) -> Callable[[str], Path]:
    """Path of a file below --shared; fails where it is missing."""

    def find(name: str) -> Path:
        path = shared_dir / name
        if not path.is_file():
            pytest.fail(f"{path} is missing: the oracle cannot speak")
        return path

    return find


@pytest.fixture(scope="module")
def compiles_aside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For modules that compile in temporary folders: what they compile stays out of the user's cache.

    It ends with the module; the next one on this worker finds again what earlier runs have compiled.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT, str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where wrong probes are made, one after the other, see `wrong_probes.edited`."""
    return tmp_path_factory.mktemp("workshop")
