"""What `layoutprobe check` says is the same on both engines: of correct kernels, and of planted faults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from campaign.fault import Fault, plant
from campaign.faults import FAULTS
from campaign.planting import empty_folder, judged, kernels
from msgspec.structs import replace
from sampling import one_in

from layoutprobe.engine.choice import ENVIRONMENT, NAMES
from layoutprobe.manifest.model import KernelCase
from layoutprobe.render.gate.json_ import document
from layoutprobe.report.gate import GateReport, KernelVerdict

SAMPLE = list({(fault.kind, fault.check): fault for fault in FAULTS}.values())
"""One fault of each class that each check finds."""


def _verdicts(monkeypatch: pytest.MonkeyPatch, case: KernelCase) -> Iterator[KernelVerdict]:
    for engine in NAMES:
        monkeypatch.setenv(ENVIRONMENT, engine)
        yield judged(case)


def _told(verdict: KernelVerdict) -> Any:
    """Everything that a report says, but how long it took."""
    return document(GateReport("kernels", (replace(verdict, seconds=0.0),), ""))["kernels"]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", kernels())
def test_correct(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = kernels()[name]
    numpys, ours = _verdicts(monkeypatch, replace(case, sizes=tuple(one_in(2, case.sizes[:2]))))
    assert numpys.exit_code == 0
    assert _told(ours) == _told(numpys)


@pytest.mark.few(2)
@pytest.mark.parametrize("fault", SAMPLE, ids=lambda fault: fault.name)
def test_faults(fault: Fault, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = empty_folder(request.config, "campaign-native", fault.name)
    numpys, ours = _verdicts(monkeypatch, plant(folder, fault))
    assert fault.unseen or numpys.every
    assert _told(ours) == _told(numpys)
