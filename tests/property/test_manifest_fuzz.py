"""A manifest is untrusted: whatever it says, it is read, or refused in words that name the file."""

from __future__ import annotations

import copy
import json
import re
import tempfile
from pathlib import Path
from typing import Any

from examples import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from layoutprobe.errors import UsageError
from layoutprobe.manifest.model import Manifest
from layoutprobe.manifest.read import read_manifest

VALID: dict[str, Any] = {
    "kernel": [
        {
            "name": "g",
            "source": "g.hip",
            "flags": ["-O3"],
            "defines": {"X": 1},
            "include": ["."],
            "grid": ["(N + 127) / 128", 2],
            "block": [256],
            "dynamic_lds": "K * 2",
            "sizes": [{"M": 20, "N": 13, "K": 8}, {"M": 2, "N": 1, "K": 80}],
            "contract": {"kind": "gemm", "alpha": 2, "beta": 0.5},
            "limits": {"vgprs": 128, "seconds": 3},
            "tolerance": {"absolute": 0.1},
            "skip": {"numerics": "why not"},
            "checks": ["numerics"],
            "seed": 4,
            "argument": [
                {"name": "A", "role": "in", "dtype": "f16", "shape": ["M", "K"], "matrix": "A", "ld": "K+1"},
                {
                    "name": "B",
                    "role": "in",
                    "dtype": "bf16",
                    "shape": ["K", "N"],
                    "matrix": "B",
                    "order": "col",
                },
                {"name": "C", "role": "inout", "dtype": "f32", "shape": ["M", "N"], "matrix": "C"},
                {"name": "n", "role": "scalar", "dtype": "i32", "value": "N if M > 3 else K"},
                {"name": "t", "role": "in", "dtype": "i8", "shape": [3], "values": "i0 + M", "strides": [2]},
                {"role": "null"},
                {"role": "bytes", "hex": "00 ff"},
            ],
        }
    ]
}

EXPRESSIONS = st.text(alphabet="MNK0123456789+-*/%<>=()& |ifelse", max_size=60)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True),
    st.text(max_size=20),
    EXPRESSIONS,
    st.sampled_from(
        ["gemm", "none", "in", "out", "f16", "A", "alpha", "K << 62", "1 << 31", "M / (K - 8)", "-1"]
    ),
    st.lists(st.one_of(st.integers(), st.text(max_size=8)), max_size=5),
    st.dictionaries(st.text(max_size=8), st.integers(), max_size=3),
)


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of everything below a node."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    found = [(*path, key) for key, _ in children]
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        found += places(child, (*path, key))
    return found


PLACES = places(VALID)


def toml(value: Any) -> str:
    """A value as TOML, inline."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items() if v is not None) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(toml(v) for v in value if v is not None) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = repr(value)
        return text if re.search(r"[.ein]", text) else text + ".0"
    if isinstance(value, str):
        return json.dumps(value).replace("\x7f", "\\u007f")
    return str(value)


def read(text: bytes) -> Manifest | None:
    """The manifest; None where it was refused as it should be. Anything else is raised."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fuzzed.toml"
        path.write_bytes(text)
        try:
            return read_manifest(path, checks=("numerics",))
        except UsageError as error:
            told = str(error)
    assert "fuzzed.toml" in told
    assert len(told) < 5000
    return None


def test_the_start_of_the_fuzz_holds() -> None:
    assert read("\n".join(f"{k} = {toml(v)}" for k, v in VALID.items()).encode()) is not None


@examples(300, quiet=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=3))
def test_any_value_at_any_key(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    data = copy.deepcopy(VALID)
    for path, value in changes:
        node: Any = data
        for key in path[:-1]:
            try:
                node = node[key]
            except (LookupError, TypeError):
                break
        if isinstance(node, dict) or (
            isinstance(node, list) and isinstance(path[-1], int) and path[-1] < len(node)
        ):
            node[path[-1]] = value
    text = "\n".join(f"{json.dumps(str(k))} = {toml(v)}" for k, v in data.items() if v is not None)
    found = read(text.encode("utf-8", "surrogatepass"))
    assert found is None or len(found.kernels) == len(data["kernel"])


@examples(200)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda t: t.encode("utf-8", "replace"))))
def test_any_bytes(text: bytes) -> None:
    assert read(text) is None
