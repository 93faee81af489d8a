"""Probes that a command needs later are compiled while the first one runs, where nothing is in the cache yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutprobe.errors import ToolchainError
from layoutprobe.experiments.runs import compiled_ahead
from layoutprobe.experiments.setup import bench_of
from layoutprobe.instructions import probe
from layoutprobe.probing.bench import Bench
from layoutprobe.toolchain import cache, compile


def bench() -> Bench:
    return bench_of("xor", None, None, None, None, None, None, acc=False)


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path))
    probe.build.cache_clear()


@pytest.mark.usefixtures("empty")
def test_later_probes_are_there_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    one = bench()
    with compiled_ahead(one):
        pass

    def never(_: object) -> None:
        raise AssertionError("it is compiled again")

    monkeypatch.setattr(compile._Job, "compile", never)
    probe.build.cache_clear()
    one.compile("epilogue")
    probe.build("gfx1151", 32)
    with pytest.raises(AssertionError, match="compiled again"):
        one.compile("operand")


@pytest.mark.usefixtures("empty")
def test_a_filled_cache_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store(cache.key("anything"), b"kept")
    compiled = list[str]()
    monkeypatch.setattr(Bench, "compile", lambda _, name: compiled.append(name))
    with compiled_ahead(bench()):
        pass
    assert not compiled


@pytest.mark.usefixtures("empty")
def test_what_does_not_compile_is_told_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Bench, name: str) -> None:
        raise ToolchainError(f"no {name}")

    monkeypatch.setattr(Bench, "compile", refused)
    with compiled_ahead(bench()):
        pass
