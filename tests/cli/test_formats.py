"""The registry of formats: every writer is there, and a format from outside works on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import fake_reports
import pytest

from layoutprobe.cli import main as command_line
from layoutprobe.cli import probes
from layoutprobe.errors import UsageError
from layoutprobe.render import formats
from layoutprobe.render.formats import Format

SUBJECTS = list(formats._SUBJECTS)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two formats that nobody in the package knows, one of text and one of bytes; both are gone afterwards."""

    def shout(view: Any, stream: IO[str]) -> None:
        stream.write(f"→ {view.report.matrix} {len(view.waves)} waves!\n")

    def bits(view: Any, stream: IO[bytes]) -> None:
        stream.write(b"\x00\xff\r\n" + view.row.tobytes())

    kept = {subject: list(rows) for subject, rows in formats._SUBJECTS.items()}
    formats.register("layout", Format("shout", shout, ("loud", "louder")))
    formats.register("layout", Format("bits", bits, ("bin",), binary=True))
    monkeypatch.setattr(probes, "report_of", lambda _: fake_reports.transposed_a())
    yield
    formats._SUBJECTS.update(kept)


@pytest.mark.usefixtures("made_up")
def test_a_format_from_outside_works_on_the_command_line(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    main = command_line.main
    assert main(["dump", "--format", "shout"]) == 1
    assert capsysbinary.readouterr().out.decode("utf-8") == "→ A 4 waves!\n"
    for suffix in ("loud", "louder"):
        assert main(["dump", "--wave", "1", "--output", str(tmp_path / f"a.{suffix}")]) == 1
        assert (tmp_path / f"a.{suffix}").read_text("utf-8") == "→ A 1 waves!\n"
    raw = b"\x00\xff\r\n" + fake_reports.transposed_a().loaded.row.tobytes()
    assert main(["dump", "--output", str(tmp_path / "a.bin")]) == 1
    assert (tmp_path / "a.bin").read_bytes() == raw
    capsysbinary.readouterr()
    assert main(["dump", "--format", "bits"]) == 1
    assert capsysbinary.readouterr().out == raw
    assert main(["dump", "--help"]) == 0
    said = " ".join(capsysbinary.readouterr().out.decode().split())
    assert "json, csv, svg, html, shout, bits;" in said
    assert ".loud, .louder, .bin" in said
    assert main(["layout", "v_wmma_f32_16x16x16_f16", "--format", "shout"]) == 2, "of one subject only"


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_writer_is_there_and_no_suffix_is_claimed_twice(subject: str) -> None:
    rows = formats.formats(subject)
    assert rows[0].name == "table"
    assert rows[0].for_people
    assert len({row.name for row in rows}) == len(rows)
    claimed = [suffix for row in rows for suffix in row.suffixes]
    assert len(set(claimed)) == len(claimed)
    for row in rows:
        assert isinstance(row.writer, str)
        module, _, function = row.writer.partition(":")
        found = __import__(f"layoutprobe.render.{module}", fromlist=[function])
        assert callable(getattr(found, function))


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_suffix_without_a_format_is_refused_and_the_others_are_named(subject: str) -> None:
    assert formats.format_of(subject, "report").name == "table"
    assert formats.format_of(subject, "a.b/REPORT.JSON").name == "json"
    with pytest.raises(UsageError) as caught:
        formats.format_of(subject, "report.docx")
    assert caught.value.what == "no format goes with the suffix .docx"
    assert caught.value.expected == "one of: " + ", ".join(f".{s}" for s in formats.suffixes(subject))
