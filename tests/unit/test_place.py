"""A place is said in one order, and JSON holds the same as the words."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from layoutprobe.errors import ExecutionError
from layoutprobe.place import Call, Element, Place, Register, SourceLine, field_bits
from layoutprobe.report.finding import Related

SCHEMAS = [
    json.loads((Path(__file__).parents[2] / "docs" / f"{name}.schema.json").read_text("utf-8"))
    for name in ("gate", "report")
]
WHOLE = Place(
    kernel="gemm",
    source=SourceLine("gemm.hip", 97, 13),
    inlined_at=(Call(SourceLine("tile.h", 4, 2), "get"), Call(SourceLine("gemm.hip", 120), "mma<2>")),
    pc=0x1F4,
    instruction="ds_load_b128",
    workgroup=(1, 2, 0),
    wave=3,
    lane=17,
    register=Register("VGPR", 72),
    bits=(16, 31),
    matrix="A",
    element=Element("A", (3, 17)),
    lds_byte=64,
    buffer="a",
    buffer_byte=128,
    size=(("M", 64), ("K", 16)),
)


def test_words_come_in_one_order() -> None:
    assert str(WHOLE) == (
        "kernel gemm, line gemm.hip:97, column 13, inlined at tile.h:4 (get), gemm.hip:120 (mma<2>), PC 0x1f4, "
        "instruction ds_load_b128, workgroup (1, 2, 0), wave 3, lane 17, VGPR v72, half high, matrix A, "
        "element A[3][17], LDS byte 64, buffer a, buffer byte 128, size M=64 K=16"
    )
    assert str(Place()) == ""
    assert (WHOLE.line, WHOLE.site) == ("gemm.hip:97", "ds_load_b128 at gemm.hip:97")


def test_json_leaves_nothing_out() -> None:
    """Every field is a key, under its own name or those of its parts."""
    found = WHOLE.json()
    parts = {"source": {"file", "line", "column"}, "near": set()}
    assert set(found) == {key for f in Place.__struct_fields__ for key in parts.get(f, {f})}
    assert found["register"] == {"kind": "VGPR", "index": 72}
    assert found["inlined_at"][1] == {"file": "gemm.hip", "line": 120, "function": "mma<2>"}
    assert found["size"] == {"M": 64, "K": 16}
    assert Place().json() == {}
    assert Place(pc=0, wave=0, lane=0, lds_byte=0, source=SourceLine("k", 1), near=True).json() == {
        "pc": 0, "wave": 0, "lane": 0, "lds_byte": 0, "file": "k", "line": 1, "near": True,
    }  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS, ids=["gate", "report"])
def test_the_schemas_know_every_key(schema: dict[str, object]) -> None:
    place = {"$ref": "#/$defs/place", "$defs": schema["$defs"]}
    jsonschema.validate(WHOLE.json(), place, cls=jsonschema.Draft202012Validator)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"vgpr": 4}, place, cls=jsonschema.Draft202012Validator)


def test_a_line_that_is_only_near_is_no_line_of_its_own() -> None:
    near = Place(source=SourceLine("gemm.hip", 97, 13), near=True, pc=0x1F4, instruction="v_mov_b32")
    assert near.line == ""
    assert near.site == "v_mov_b32 at PC 0x1f4, near gemm.hip:97"
    assert str(near) == "near line gemm.hip:97, PC 0x1f4, instruction v_mov_b32"


@pytest.mark.parametrize(
    ("field", "width", "words"),
    [
        (0, 32, ""), (0, 64, ""), (0, 16, "half low"), (1, 16, "half high"), (3, 8, "byte 3"), (7, 4, "nibble 7"),
        (1, 6, "bits 6-11"),
    ],
)  # fmt: skip
def test_bits_have_their_names(field: int, width: int, words: str) -> None:
    assert str(Place(bits=field_bits(field, width))) == words


@pytest.mark.parametrize(
    ("register", "text"),
    [
        (Register("VGPR", 7), "VGPR v7"), (Register("AccVGPR", 0), "AccVGPR a0"), (Register("SGPR", 4), "SGPR s4"),
        (Register("SGPR", 106), "SGPR vcc_lo"), (Register("VGPR", 106), "VGPR v106"),
    ],
)  # fmt: skip
def test_registers_have_their_names(register: Register, text: str) -> None:
    assert str(Place(register=register)) == text


def test_a_fault_says_its_place_and_carries_it() -> None:
    fault = ExecutionError("wrong", place=Place(pc=4, lane=2), where={"asked to": "run"})
    assert fault.where == {"PC": "0x4", "lane": 2, "asked to": "run"}
    fault.put(Place(kernel="k", pc=4, lane=2))
    assert fault.place.kernel == "k"
    assert str(fault) == "wrong\n  where:    kernel k, PC 0x4, lane 2, asked to run"


def test_a_related_place_says_what_it_has_to_do_with_it() -> None:
    stored = Place(source=SourceLine("k.hip", 3), instruction="ds_store_b32", wave=1, lane=2, lds_byte=8)
    assert str(Related("stored by", stored)) == "stored by ds_store_b32 at k.hip:3 (wave 1, lane 2)"
    assert str(Related("loaded by", stored)) == "loaded by ds_store_b32 at k.hip:3 (LDS byte 8)"
