"""Measures what tests cost, and writes it into `seconds.csv`, from which `sampling.py` takes the short ones.

    PYTHONPATH=tests LAYOUTPROBE_CACHE=$(mktemp -d) CI=true pytest -p timing --every-case [tests/checks/test_new.py]

Processor time, of the test's own process and of those that it started and waited for: what the machine does
beside it counts little.
"""

from __future__ import annotations

import csv
import os
import time
from collections import defaultdict
from collections.abc import Generator

import pytest
from sampling import SECONDS, family_of

ROOT = SECONDS.parent.parent
_spent: defaultdict[str, list[float]] = defaultdict(list)
_KEY, _LEAST = "processor seconds", 0.2
"""Shorter ones are not listed: the table is read by people too."""


def _now() -> float:
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    item.user_properties.append((_KEY, _now()))
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    yield
    (began,) = [float(str(value)) for key, value in item.user_properties if key == _KEY]
    item.user_properties[:] = [
        *((k, v) for k, v in item.user_properties if k != _KEY),
        (_KEY, _now() - began),
    ]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown" and "PYTEST_XDIST_WORKER" not in os.environ:
        _spent[family_of(report.nodeid)] += [
            float(str(value)) for key, value in report.user_properties if key == _KEY
        ]


def pytest_sessionfinish() -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    with SECONDS.open(newline="") as file:
        _, *known = csv.reader(file)
    rows = {family: more for family, *more in known if (ROOT / family.partition("::")[0]).exists()}
    for family, each in _spent.items():
        rows.pop(family, None)
        if (mean := sum(each) / max(1, len(each))) >= _LEAST:
            rows[family] = [str(len(each)), f"{mean:.2f}"]
    with SECONDS.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("test", "cases", "seconds of a case"))
        table.writerows((family, *row) for family, row in sorted(rows.items()))
