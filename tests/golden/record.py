"""What the commands said when it was last looked at, in a few lines per command.

`expected.json` holds it, and test_golden.py compares. It guards against a change that nobody meant:
layouts are proven elsewhere (tests/instructions, tests/oracle_shared). After a change that was meant,
`python tests/golden/record.py` writes it anew; the difference belongs into the commit message.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from layoutprobe import arch
from layoutprobe.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = Path(__file__).with_name("expected.json")
SCHEMES = ("none", "padded", "xor", "xor-vector")
TARGETS = ("gfx1151", "gfx1200")
CLAIMS = tuple(sorted((ROOT / "docs" / "claims").glob("*.toml")))
BUGGY = ROOT / "probes" / "gemm" / "seeds" / "buggy.toml"

Json = Any


def commands() -> Iterator[tuple[str, ...]]:
    """Every command whose outcome is kept."""
    for scheme in SCHEMES:
        for matrix in "ABCD":
            yield ("dump", "--matrix", matrix, "--lds", scheme)
        for matrix in "AB":
            yield ("roundtrip", "--matrix", matrix, "--lds", scheme)
    yield ("epilogue",)
    for target in TARGETS:
        for name in arch.find(target).matrix:
            for wave in ("32", "64"):
                yield ("layout", name, "--arch", target, "--wave", wave)
    for path in CLAIMS:
        yield ("claim", str(path.relative_to(ROOT)))
    yield ("check", str(BUGGY.relative_to(ROOT)))


def outcome(words: tuple[str, ...]) -> Json:
    """What a command says, without what may change from run to run."""
    paths = [str(ROOT / word) if word.endswith(".toml") else word for word in words]
    stream = io.StringIO()
    with redirect_stdout(stream):
        code = main([*paths, "--format", "json"])
    found = json.loads(stream.getvalue())
    return {"exit_code": code, **_SUMMARIES[words[0]](found)}


def _digest(rows: Json) -> str:
    return hashlib.sha256(json.dumps(rows, separators=(",", ":")).encode()).hexdigest()[:16]


def _report(found: Mapping[str, Json]) -> dict[str, Json]:
    kept = ("wave", "lane", "vgpr", "bits", "loaded", "needed", "mismatch", "live", "read_by")
    return {
        "verdict": found["verdict"],
        "forms": found["closed_form"],
        "slots": len(found["slots"]),
        "digest": _digest([[slot[name] for name in kept] for slot in found["slots"]]),
    }


def _layout(found: Mapping[str, Json]) -> dict[str, Json]:
    kept = ("row", "col", "lane", "vgpr", "bits", "read")
    return {
        "shape": found["shape"],
        "gauge": _digest([said["text"] for said in found["gauge"].values()]),
        "operands": {
            name: [
                _digest([[slot[k] for k in kept] for slot in operand["slots"]]),
                _digest(operand["forms"]),
            ]
            for name, operand in found["operands"].items()
        },
    }


def _claims(found: Mapping[str, Json]) -> dict[str, Json]:
    return {"verdicts": {claim["name"]: claim["verdict"] for claim in found["claims"]}}


def _gate(found: Mapping[str, Json]) -> dict[str, Json]:
    return {
        kernel["name"]: {
            result["check"]: [result["status"], *map(_line, result["findings"])]
            for result in kernel["checks"]
        }
        for kernel in found["kernels"]
    }


def _line(finding: Mapping[str, Json]) -> str:
    place = finding["place"]
    line = f"{Path(place['file']).name}:{place['line']}" if "line" in place else ""
    return f"{finding['rule']} {line}".rstrip()


_SUMMARIES = {
    "dump": _report,
    "roundtrip": _report,
    "epilogue": _report,
    "layout": _layout,
    "claim": _claims,
    "check": _gate,
}


if __name__ == "__main__":
    everything = {" ".join(words): outcome(words) for words in commands()}
    EXPECTED.write_text(json.dumps(everything, indent=1, ensure_ascii=False) + "\n", "utf-8")
