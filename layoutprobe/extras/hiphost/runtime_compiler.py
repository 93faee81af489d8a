"""Compiles what a program hands to hipRTC while it runs: a source, headers, options, and names to be looked up.

A name expression (`kernel<float, 4>`) makes the compiler instantiate it: a variable that holds its address is added
to the source. The code object says which symbol lies at that address, and that is its lowered name.
"""

from __future__ import annotations

import re
import struct
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct, field

from layoutprobe.codeobj.container import SHT_DYNSYM, read_container
from layoutprobe.codeobj.elf import load
from layoutprobe.errors import ProbeError, ToolchainError, UsageError
from layoutprobe.toolchain.compile import compile_hip

SUCCESS, INVALID_INPUT, INVALID_OPTION, COMPILATION, NAME_NOT_VALID = 0, 3, 5, 6, 10
"""Results of hipRTC. Numbers: AMD's hiprtc.h."""
_PRELUDE = ("-D__HIPCC_RTC__=1", "-D__HIP_PLATFORM_AMD__=1", "-include", "hip/hip_runtime.h")
"""What hipRTC puts before every source."""
_NAME = "__layoutprobe_name_"
_MOST = 1024
"""Headers, options or names of a program, and letters of a name."""
_TAKEN = ("-D", "-U", "-O", "-f", "-W", "-w", "-m", "-g", "-std=", "-pedantic")
_SWITCHES = {
    "--use_fast_math": "-ffast-math",
    "-use_fast_math": "-ffast-math",
    "-G": "-g",
    "--device-debug": "-g",
}
_PASSED_OVER = (
    "-lineinfo",
    "--generate-line-info",
    "-default-device",
    "-hip-pch",
    "--hip-pch",
    "-nogpulib",
    "-rdc",
)


class Compiled(Struct):
    """What hipRTC says of a program.

    Attributes:
        result: SUCCESS or another result.
        log: what the compiler said.
        code: the code object.
        names: lowered names, one for each expression.
    """

    result: int
    log: str = ""
    code: bytes = b""
    names: list[str] = field(default_factory=list)

    def parts(self) -> tuple[bytes, bytes, bytes]:
        """Log, code and names as the program gets them: texts end with a zero."""
        log = self.log.encode("utf-8", "replace").replace(b"\0", b"?") + b"\0" if self.log else b""
        return log, self.code, b"".join(name.encode() + b"\0" for name in self.names)


class _Options(Struct):
    target: str
    flags: list[str] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)


class _RefusedError(Exception):
    def __init__(self, result: int, words: str) -> None:
        super().__init__(words)
        self.result = result


def compile_program(target: str, counts: Sequence[int], data: bytes | bytearray) -> Compiled:
    """Compile a program.

    Args:
        target: of the device.
        counts: headers, options and name expressions.
        data: name and text of the source and of each header, options, name expressions; each with its size (u64)
            before it.
    """
    try:
        headers, options, names = counts
        if max(counts) > _MOST:
            raise _RefusedError(INVALID_INPUT, f"more than {_MOST} headers, options or names")
        texts = list(_strings(data))
        if len(texts) != 2 + 2 * headers + options + names:
            raise _RefusedError(INVALID_INPUT, "the request is damaged")
        files, rest = texts[: 2 + 2 * headers], texts[2 + 2 * headers :]
        with tempfile.TemporaryDirectory(prefix="layoutprobe-") as folder:
            return _compile(Path(folder), files, _options(target, rest[:options]), rest[options:])
    except _RefusedError as refused:
        return Compiled(refused.result, f"{refused}\n")


def _strings(data: bytes | bytearray) -> Iterator[str]:
    at = 0
    while at + 8 <= len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        if size > len(data) - at - 8:
            raise _RefusedError(INVALID_INPUT, "the request is damaged")
        yield data[at + 8 : at + 8 + size].decode("utf-8", "replace")
        at += 8 + size


def _options(target: str, words: Sequence[str]) -> _Options:
    """What hipRTC takes of the compiler's options; the target may be another one than the device's."""
    made, rest = _Options(target), iter(words)
    for word in rest:
        name, _, value = word.partition("=")
        if name in ("--offload-arch", "--gpu-architecture", "-arch"):
            made.target = (value or next(rest, "")).partition(":")[0]
        elif name in ("--std", "-std"):
            made.flags.append(f"-std={value}")
        elif word.startswith("-I") or name == "--include-path":
            made.folders.append(Path(value if name == "--include-path" else word[2:] or next(rest, ".")))
        elif word in ("-D", "-U", "-include"):
            made.flags += [word, next(rest, "")]
        elif word in _SWITCHES:
            made.flags.append(_SWITCHES[word])
        elif word.startswith(_TAKEN) and not word.startswith("-fplugin"):
            made.flags.append(word)
        elif word and not word.startswith(_PASSED_OVER):
            raise _RefusedError(INVALID_OPTION, f"hipRTC here knows no option {word[:80]!r}")
    return made


def _compile(folder: Path, files: Sequence[str], options: _Options, names: Sequence[str]) -> Compiled:
    for name, text in zip(files[2::2], files[3::2], strict=True):
        _put(folder / "headers", name, text)
    safe = re.sub(r"[^\w.-]", "_", PurePosixPath(files[0]).name)[:80] or "hiprtc"
    source = folder / (safe if safe.endswith((".hip", ".cpp", ".cu")) else f"{safe}.hip")
    source.write_text(files[1] + "".join(_asked(n, name) for n, name in enumerate(names)), "utf-8")
    try:
        made = compile_hip(
            source,
            target=options.target,
            include_dirs=[folder / "headers", *options.folders],
            flags=(*_PRELUDE, *options.flags),
        )
        return Compiled(SUCCESS, "", made.data, _lowered(made.data, names))
    except ToolchainError as refused:
        return Compiled(COMPILATION, (refused.observed or refused.what).replace(f"{folder}/", "") + "\n")
    except UsageError as refused:
        return Compiled(INVALID_OPTION, f"{refused.what}\n")


def _put(folder: Path, name: str, text: str) -> None:
    """A header under the name by which it is included."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or len(name) > _MOST or "\0" in name:
        raise _RefusedError(INVALID_INPUT, f"no name of a header: {name[:80]!r}")
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text, "utf-8")


def _asked(number: int, expression: str) -> str:
    text = expression.strip().removeprefix("&")
    if not text or len(text) > _MOST or not text.isprintable() or ";" in text:
        raise _RefusedError(NAME_NOT_VALID, f"no name expression: {expression[:80]!r}")
    return (
        f'\nextern "C" __device__ __attribute__((used)) const void *{_NAME}{number} = (const void *)&{text};'
    )


def _lowered(image: bytes, expressions: Sequence[str]) -> list[str]:
    """The symbol at the address that each added variable holds."""
    if not expressions:
        return []
    try:
        symbols = [s for s in read_container(image).symbols(SHT_DYNSYM) if s.defined]
        held = {relocation.address: relocation.value for relocation in load(image).relocations}
    except ProbeError as unread:
        raise _RefusedError(NAME_NOT_VALID, unread.what) from unread
    places = {s.name: s.value for s in symbols}
    at = {s.value: s.name for s in symbols if not s.name.endswith(".kd")}
    found = [at.get(held.get(places.get(f"{_NAME}{n}", -1), -1), "") for n in range(len(expressions))]
    for name, expression in zip(found, expressions, strict=True):
        if not name:
            raise _RefusedError(
                NAME_NOT_VALID, f"{expression[:80]!r} is no kernel and no variable of the device"
            )
    return found
