"""Loading real code objects: pyelftools and the compiler's own assembly text are the oracles."""

from __future__ import annotations

import io
import re
import struct
from bisect import bisect_right
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import UsageError
from layoutprobe.place import SourceLine
from layoutprobe.toolchain.compile import Compiled, assemble, compile_hip

pytestmark = pytest.mark.usefixtures("compiles_aside")

TARGET = "gfx1151"

HEADER = """
__attribute__((device)) inline float scaled(float x, int n) {
  return x * n + 1.0f;
}
"""

SOURCE = """#include "scale.h"
#define KERNEL extern "C" __attribute__((global)) void
typedef unsigned int u32;

__attribute__((device)) float table[4] = {1, 2, 3, 4};
__attribute__((device)) float* parts[2] = {table, table + 2};

KERNEL __attribute__((amdgpu_flat_work_group_size(64, 64)))
first(const float* input, float* output, int count, char flag) {
  __attribute__((shared)) static float tile[64];
  int lane = __builtin_amdgcn_workitem_id_x();
  tile[lane] = scaled(input[lane], count);
  __builtin_amdgcn_s_barrier();
  if (flag)
    output[lane] = tile[63 - lane];
}

KERNEL second(float* p) {
  p[__builtin_amdgcn_workgroup_id_y()] = *parts[(int)p[1]];
}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    (folder / "include").mkdir()
    (folder / "include" / "scale.h").write_text(HEADER)
    (folder / "two.hip").write_text(SOURCE)
    return folder / "two.hip"


def build(source: Path, *flags: str, target: str = TARGET) -> Compiled:
    return compile_hip(source, target=target, include_dirs=[source.parent / "include"], flags=flags)


VARIANTS = [(), ("-gdwarf-4",), ("-O0",), ("-mwavefrontsize64", "-mcumode")]


@pytest.fixture(scope="module", params=VARIANTS, ids=" ".join)
def compiled(request: pytest.FixtureRequest, source: Path) -> Compiled:
    return build(source, *request.param)


def oracle(compiled: Compiled) -> ELFFile:
    return ELFFile(io.BytesIO(compiled.data))


def test_segments_are_those_of_pyelftools(compiled: Compiled) -> None:
    expected = [
        (s["p_vaddr"], s.data(), s["p_memsz"], bool(s["p_flags"] & 1), bool(s["p_flags"] & 2))
        for s in oracle(compiled).iter_segments("PT_LOAD")
    ]
    loaded = load(compiled.data).segments
    assert [(s.address, s.data, s.size, s.executable, s.writable) for s in loaded] == expected
    assert sum(s.executable for s in loaded) == 1


def test_kernels_lie_where_their_symbols_say(compiled: Compiled) -> None:
    symbols = {s.name: s for s in oracle(compiled).get_section_by_name(".symtab").iter_symbols()}
    code = load(compiled.data)
    assert list(code.kernels) == ["first", "second"]
    for name, kernel in code.kernels.items():
        assert (kernel.entry, kernel.size) == (symbols[name]["st_value"], symbols[name]["st_size"])
        assert kernel.entry + kernel.size <= code.segments[1].address + code.segments[1].size


def directives(compiled: Compiled, kernel: str) -> dict[str, int]:
    """The compiler's own .amdhsa_ directives of a kernel, those whose value is a plain number."""
    block = re.search(rf"\.amdhsa_kernel {kernel}\n(.*?)\.end_amdhsa_kernel", compiled.assembly, re.DOTALL)
    assert block
    return {k: int(v) for k, v in re.findall(r"\.amdhsa_(\w+) (\d+)\n", block[1])}


@pytest.mark.parametrize("name", ["first", "second"])
def test_descriptor_says_what_the_compiler_wrote(compiled: Compiled, name: str) -> None:
    told = directives(compiled, name)
    d = load(compiled.data).kernel(name).descriptor
    decoded = {
        "group_segment_fixed_size": d.group_segment_size,
        "private_segment_fixed_size": d.private_segment_size,
        "kernarg_size": d.kernarg_size,
        "user_sgpr_count": d.user_sgprs,
        "user_sgpr_kernarg_segment_ptr": d.properties >> 3 & 1,
        "user_sgpr_kernarg_preload_length": d.kernarg_preload & 127,
        "wavefront_size32": int(d.wave32),
        "uses_dynamic_stack": d.properties >> 11 & 1,
        "workgroup_processor_mode": int(d.wgp_mode),
        "system_sgpr_workgroup_id_x": d.rsrc2 >> 7 & 1,
        "system_sgpr_workgroup_id_y": d.rsrc2 >> 8 & 1,
        "system_sgpr_workgroup_id_z": d.rsrc2 >> 9 & 1,
        "system_vgpr_workitem_id": d.rsrc2 >> 11 & 3,
        "float_denorm_mode_32": d.rsrc1 >> 16 & 3,
        "float_denorm_mode_16_64": d.rsrc1 >> 18 & 3,
        "memory_ordered": d.rsrc1 >> 30 & 1,
        "inst_pref_size": d.rsrc3 >> 4 & 63,
    }
    checked = {key: value for key, value in decoded.items() if key in told}
    assert checked == {key: told[key] for key in checked}
    assert {"group_segment_fixed_size", "kernarg_size", "user_sgpr_count", "wavefront_size32"} <= set(checked)


def test_descriptor_tells_kernels_apart(source: Path) -> None:
    code = load(build(source).data)
    first, second = code.kernel("first").descriptor, code.kernel("second").descriptor
    assert (first.group_segment_size, second.group_segment_size) == (256, 0)
    assert (first.rsrc2 >> 7 & 7, second.rsrc2 >> 7 & 7) == (0b001, 0b011)  # workgroup ids enabled
    wave64 = load(build(source, "-mwavefrontsize64", "-mcumode").data).kernel("first")
    assert (wave64.wavefront_size, wave64.descriptor.wave32, wave64.descriptor.wgp_mode) == (64, False, False)
    assert first.wave32
    assert first.wgp_mode


def test_metadata_says_what_the_compiler_wrote(compiled: Compiled) -> None:
    kernels = load(compiled.data).kernels.values()
    loaded: dict[str, list[object]] = {
        "vgpr_count": [k.vgprs for k in kernels],
        "sgpr_count": [k.sgprs for k in kernels],
        "vgpr_spill_count": [k.vgpr_spills for k in kernels],
        "sgpr_spill_count": [k.sgpr_spills for k in kernels],
        "wavefront_size": [k.wavefront_size for k in kernels],
        "max_flat_workgroup_size": [k.max_workgroup_size for k in kernels],
        "kernarg_segment_size": [k.kernarg_size for k in kernels],
        "symbol": [k.symbol for k in kernels],
        "offset": [a.offset for k in kernels for a in k.args],
        "size": [a.size for k in kernels for a in k.args],
        "value_kind": [a.kind for k in kernels for a in k.args],
    }
    for key, values in loaded.items():
        printed = re.findall(rf"^[\s-]+\.{key}:\s+(\S+)$", compiled.assembly, re.MULTILINE)
        assert [str(value) for value in values] == printed, key


def test_arguments_have_the_names_of_the_source(source: Path) -> None:
    args = load(build(source).data).kernel("first").explicit_args
    assert [(a.name, a.offset, a.size, a.kind) for a in args] == [
        ("input", 0, 8, "global_buffer"),
        ("output", 8, 8, "global_buffer"),
        ("count", 16, 4, "by_value"),
        ("flag", 20, 1, "by_value"),
    ]


def oracle_rows(compiled: Compiled) -> list[tuple[int, str, int, int]]:
    """(address, base name, line, column) of every row, line 0 for ends of sequences, by pyelftools."""
    rows = []
    dwarf = oracle(compiled).get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        first = 0 if program.header.version >= 5 else 1
        for entry in program.get_entries():
            if (state := entry.state) is not None:
                name = program.header.file_entry[state.file - first].name.decode()
                rows.append((state.address, name, 0 if state.end_sequence else state.line, state.column))
    return sorted(rows, key=lambda row: row[0])


def _read(found: SourceLine | None) -> tuple[str, int, int] | None:
    return None if found is None else (found.file.rpartition("/")[2], found.line, found.column or 0)


def test_every_instruction_has_the_line_that_pyelftools_reads(compiled: Compiled) -> None:
    code = load(compiled.data)
    rows = oracle_rows(compiled)
    addresses = [row[0] for row in rows]
    for kernel in code.kernels.values():
        for address in range(kernel.entry, kernel.entry + kernel.size, 4):
            _, name, line, column = rows[bisect_right(addresses, address) - 1]
            found = code.lines.find(address)
            assert _read(found) == ((name, line, column) if line else None)
            before = [r for r in rows if kernel.entry <= r[0] <= address and r[2]]
            near = code.lines.near(address, kernel.entry)
            assert _read(near) == (before[-1][1:] if before else None)
    assert any(row[3] for row in rows), "columns are there"
    assert code.lines.find(code.kernels["first"].entry - 4) is None
    assert code.lines.find(addresses[-1] + 4) is None


@pytest.mark.parametrize("version", ["-gdwarf-5", "-gdwarf-4", "-gdwarf-2"])
def test_lines_name_the_source_and_the_header_that_was_inlined(source: Path, version: str) -> None:
    code = load(build(source, version).data)
    first = code.kernel("first")
    seen = {
        str(code.lines.find(address) or "") for address in range(first.entry, first.entry + first.size, 4)
    }
    assert {"two.hip:15", "include/scale.h:3"} <= seen
    assert all(re.match(r"(two\.hip|include/scale\.h):\d+$", place) for place in seen - {""})


def test_a_header_of_the_folder_above_is_named_the_short_way(tmp_path: Path) -> None:
    """The compiler writes "./../up.h"."""
    (tmp_path / "up.h").write_text(
        "__attribute__((device)) inline int up(int x) {\n  return x * 40503 + 7;\n}\n", "utf-8"
    )
    below = tmp_path / "below" / "k.hip"
    below.parent.mkdir()
    below.write_text(
        '#include "../up.h"\nextern "C" __attribute__((global)) void k(int* y, int x) { y[0] = up(x); }\n',
        "utf-8",
    )
    code = load(compile_hip(below, target="gfx1151").data)
    kernel = code.kernel("k")
    seen = {
        str(code.lines.find(address) or "") for address in range(kernel.entry, kernel.entry + kernel.size, 4)
    }
    assert seen >= {"../up.h:2"}
    assert not any("./../" in place for place in seen)


def test_64_bit_dwarf_holds_the_same_lines(source: Path) -> None:
    """pyelftools cannot read it, but the code is the same."""
    wide, narrow = load(build(source, "-gdwarf64").data), load(build(source).data)
    assert wide.lines == narrow.lines
    assert len(narrow.lines.addresses) > 10


def test_no_debug_information_is_no_error(source: Path) -> None:
    code = load(build(source, "-g0").data)
    assert code.lines.addresses == ()
    assert code.lines.find(code.kernel("first").entry) is None


def test_relocations_are_those_of_pyelftools(compiled: Compiled) -> None:
    table = oracle(compiled).get_section_by_name(".rela.dyn")
    symbols = oracle(compiled).get_section_by_name(".dynsym")
    expected = [
        (r["r_offset"], r["r_addend"] + symbols.get_symbol(r["r_info_sym"])["st_value"])
        for r in table.iter_relocations()
    ]
    assert [(r.address, r.value) for r in load(compiled.data).relocations] == expected
    # `parts` holds the address of table[0] and of table[2].
    address = symbols.get_symbol_by_name("table")[0]["st_value"]
    assert {address, address + 8} <= {value for _, value in expected}


def flags_of(data: bytes) -> int:
    return int.from_bytes(data[48:52], "little")


ASSEMBLY = """
  .amdgcn_target "amdgcn-amd-amdhsa--{target}"
  .text
  .p2align 8
  .type bare,@function
bare:
  s_endpgm
.Lend:
  .size bare, .Lend-bare
  .rodata
  .p2align 6
  .amdhsa_kernel bare
    .amdhsa_next_free_vgpr 1
    .amdhsa_next_free_sgpr 1
    {extra}
  .end_amdhsa_kernel
  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - {{.name: bare, .symbol: bare.kd, .kernarg_segment_size: 0, .group_segment_fixed_size: 0,
      .private_segment_fixed_size: 0, .kernarg_segment_align: 8, .wavefront_size: {wave},
      .sgpr_count: 1, .vgpr_count: 1, .max_flat_workgroup_size: 64}}
...
  .end_amdgpu_metadata
"""


# Every processor whose code objects have the versions that are read.
PROCESSORS = """
    gfx900 gfx902 gfx904 gfx906 gfx908 gfx909 gfx90a gfx90c gfx942 gfx950 gfx9-generic gfx9-4-generic
    gfx1010 gfx1011 gfx1012 gfx1013 gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036 gfx10-1-generic
    gfx10-3-generic gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153 gfx11-generic
    gfx1200 gfx1201 gfx12-generic gfx1250 gfx1251
"""


@pytest.mark.parametrize("target", PROCESSORS.split())
def test_target_of_assembly_that_does_not_name_it(target: str) -> None:
    wave64 = target.startswith("gfx9")
    extra = ".amdhsa_accum_offset 4" if target in ("gfx90a", "gfx942", "gfx950", "gfx9-4-generic") else ""
    text = ASSEMBLY.format(target=target, wave=64 if wave64 else 32, extra=extra)
    code = load(assemble(text, target=target).data)
    assert code.target == target
    assert code.kernel().wavefront_size == (64 if wave64 else 32)


def test_target_is_without_its_features(source: Path) -> None:
    code = load(build(source, target="gfx942:sramecc+:xnack-").data)
    assert code.target == "gfx942"
    assert b"gfx942:sramecc+:xnack-" in build(source, target="gfx942:sramecc+:xnack-").data


def test_assembly_has_lines_of_its_own_source(tmp_path: Path) -> None:
    path = tmp_path / "bare.s"
    path.write_text(ASSEMBLY.format(target=TARGET, wave=32, extra=""))
    code = load(assemble(path, target=TARGET).data)
    line = path.read_text().splitlines().index("  s_endpgm") + 1
    assert str(code.lines.find(code.kernel().entry)) == f"bare.s:{line}"


def test_choice_of_a_kernel(source: Path) -> None:
    code = load(build(source).data)
    assert code.kernel("second").name == "second"
    for name in (None, "third"):
        with pytest.raises(UsageError, match="one of: first, second"):
            code.kernel(name)


def test_digest_is_of_the_whole_file(source: Path) -> None:
    compiled = build(source)
    code: CodeObject = load(compiled.data)
    assert code.digest == compiled.toolchain["code_object"]
    assert load(compiled.data + b"\0").digest != code.digest


def test_the_descriptor_decoder_reads_each_field_from_its_own_offset() -> None:
    """A value that occurs once at each documented offset (AMDGPUUsage, "Kernel Descriptor")."""
    from layoutprobe.codeobj.descriptor import parse_descriptor

    raw = bytearray(64)
    fields = {0: "I", 4: "I", 8: "I", 16: "q", 44: "I", 48: "I", 52: "I", 56: "H", 58: "H"}
    for offset, kind in fields.items():
        struct.pack_into("<" + kind, raw, offset, 1000 + offset)
    d = parse_descriptor(bytes(raw))
    assert (d.group_segment_size, d.private_segment_size, d.kernarg_size) == (1000, 1004, 1008)
    assert (d.entry_offset, d.rsrc3, d.rsrc1, d.rsrc2) == (1016, 1044, 1048, 1052)
    assert (d.properties, d.kernarg_preload) == (1056, 1058)
