"""HIP source or assembly -> code object, through the cache.

HIP mode of a clang without ROCm cannot link, hence three steps: compile to assembly, assemble,
link. The assembly is kept: it is the compiler's own word on what each instruction is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Required, TypedDict, Unpack

from msgspec import Struct

from layoutprobe.errors import ToolchainError, UsageError
from layoutprobe.toolchain import cache, headers
from layoutprobe.toolchain.find import INSTALL, Compiler, find_compiler, identity, ziglang
from layoutprobe.toolchain.library import library_headers, machine_target

_DEFAULTS = ("-O3", "-g")
_DEVICE_ONLY = ("--cuda-device-only", "-fno-color-diagnostics", "-fno-crash-diagnostics")
_WITHOUT_ROCM = ("-nogpulib", "-nogpuinc", "-mprintf-kind=buffered")
_PRINTS = "__printf_alloc"
"""What code that prints calls; the project's headers have it on demand, so that others carry none of it."""
# The object must not depend on where the source lies. Value names are how arguments get names.
_REPRODUCIBLE = ("-fuse-cuid=none", "-ffile-compilation-dir=.", "-fno-discard-value-names")
_TARGET = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(:[a-z0-9]+[+-])*")
_SOURCES = (".hip", ".cpp", ".cxx", ".cc", ".c", ".cu", ".h", ".hpp", ".cuh", ".cl", ".s", ".asm")
_DIRECTIVE = re.compile(r'^\s*\.amdgcn_target\s+"amdgcn-amd-amdhsa-[^"]*-(gfx[0-9a-f]+)', re.MULTILINE)
_ASKED = '`arch = ["{0}"]` in the manifest, `--arch {0}`'
_MAX_DIAGNOSTICS = 20_000
_MAX_SOURCE = 64 << 20
_CRASHED = re.compile(
    r"out of memory|bad_alloc|Allocation failed|File too large|PLEASE (ATTACH|submit)|OutOfMemory", re.I
)


class Compiled(Struct, frozen=True):
    """A code object, and what made it.

    Attributes:
        data: bytes of the linked code object.
        assembly: the compiler's own text of it, or the text that was assembled.
        toolchain: "compiler", "kind", "target", "flags", and the SHA-256 digests "source" (of the
            source file alone) and "code_object".
    """

    data: bytes
    assembly: str
    toolchain: Mapping[str, str]


class HipOptions(TypedDict, total=False):
    """What a compiler is told besides the source.

    Attributes:
        target: processor, with features if any, as --offload-arch takes it.
        defines: macro -> value.
        include_dirs: searched for headers, in this order; behind them come ROCm's, or the
            project's own (`toolchain.headers`).
        flags: go after the defaults -O3 -g, and so win over them. They can run programs of their
            choice (plugins): never pass on flags from an untrusted file.
        library: flags that name the headers of a C++ library, for a source that holds host code, too; no
            others are searched then, but ROCm's or the project's own.
        compiler: a found compiler, or the name of one; default: see `find_compiler`.
    """

    target: Required[str]
    defines: Mapping[str, str | int] | None
    include_dirs: Sequence[Path]
    flags: Sequence[str]
    library: Sequence[str]
    compiler: Compiler | str | None


WAVE64 = "-mwavefrontsize64"
"""The flag that compiles for waves of 64 lanes."""


def compile_hip(source: Path, **options: Unpack[HipOptions]) -> Compiled:
    """Compile the device code of a HIP source.

    Raises:
        UsageError: there is no such file, or `target` is no name of a processor.
        ToolchainError: there is no usable compiler, or it refuses the source; the text is clang's.
    """
    job = _job(source, options)
    if known := job.cached():
        return known
    try:
        return job.compile()
    except ToolchainError as refused:
        richer = _with_library(source, options) if headers.lacks_file(refused.observed or "") else None
        if richer is None:
            raise
    return richer.cached() or richer.compile()


def precompiled(headers_of: Path, output: Path, **options: Unpack[HipOptions]) -> tuple[str, ...]:
    """Compile headers once for many sources that begin with them, and options that are the same.

    Args:
        headers_of: a source of nothing but #include lines.
        output: where they go.
        options: as for `compile_hip`.

    Returns:
        flags with which a source takes them from there.

    Raises:
        UsageError, ToolchainError: as for `compile_hip`.
    """
    job = _job(headers_of, options)
    job.precompile(output)
    return "-Xclang", "-include-pch", "-Xclang", str(output)


def files_read(source: Path, **options: Unpack[HipOptions]) -> list[Path]:
    """The files that `compile_hip` read when it last compiled this; none where it never did.

    Raises:
        UsageError, ToolchainError: as for `compile_hip`.
    """
    job = _job(source, options)
    inputs = job.inputs()
    if inputs is None and (richer := _with_library(source, options)) is not None:
        inputs = richer.inputs()
    return [job.source.parent / name for name in inputs or ()]


def _with_library(source: Path, options: HipOptions) -> _Job | None:
    """The same compilation with a C++ library and stand-ins of host code's headers; None where there are none.

    Host code in a kernel's file is read for the instances of templates that it launches, and never run.
    """
    compiler = _compiler(options.get("compiler"), options["target"])
    zig = ziglang()
    if options.get("library") or zig is None or headers.rocm_include(compiler) is not None:
        return None
    try:
        library = library_headers(zig, machine_target())
    except ToolchainError:  # not on this machine
        return None
    told = (*library, *headers.STOOD_IN_FOR)
    flags = ("-DLAYOUTPROBE_HIPCC=1", *options.get("flags", ()))
    return _job(source, {**options, "compiler": compiler, "library": told, "flags": flags})


def _job(source: Path, options: HipOptions) -> _Job:
    path, target = _existing(source), options["target"]
    chosen, library = _compiler(options.get("compiler"), target), options.get("library", ())
    defines = (f"-D{name}={value}" for name, value in (options.get("defines") or {}).items())
    searched = []
    for folder in options.get("include_dirs", ()):
        full = folder.resolve()
        searched += [f"-I{full}", f"-fdebug-prefix-map={full}={full.name}"]
    for folder in [headers.OWN] if library else headers.include_dirs(chosen):
        searched += ["-isystem", str(folder), f"-fdebug-prefix-map={folder}={folder.name}"]
    if library:
        searched += ["-nostdinc", *library]
    return _Job(path, target, chosen, (*_DEFAULTS, *defines, *options.get("flags", ())), tuple(searched))


def assemble(
    source: Path | str,
    *,
    target: str,
    flags: Sequence[str] = (),
    compiler: Compiler | str | None = None,
) -> Compiled:
    """Assemble and link AMD assembly.

    Args:
        source: a file (Path), or the text itself (str).
        target, flags, compiler: as for `compile_hip`.

    Raises:
        UsageError, ToolchainError: as for `compile_hip`.
    """
    text = source if isinstance(source, str) else _read(_existing(source)).decode("utf-8", "replace")
    name = "kernel.s" if isinstance(source, str) else source.name
    chosen = _compiler(compiler, target)
    if not re.search(r"^\s*\.loc\s", text, re.MULTILINE):
        flags = ("-g", "-ffile-compilation-dir=.", *flags)
    entry = cache.key("assembled 1", text, name, target, *flags, *_identities(chosen))
    if not re.search(r"\.(include|incbin)\b", text) and (known := _load(entry)):
        return known
    with _scratch() as folder:
        (folder / name).write_text(text, "utf-8")
        try:
            data = _link(chosen, target, flags, folder / name, name)
        except ToolchainError as refused:
            if (stated := stated_target(text)) not in ("", target.partition(":")[0]):
                refused.hint = (
                    f"it says that it is for {stated}: assemble it for that ({_ASKED.format(stated)})"
                )
            raise
    compiled = _compiled(data, text, chosen, target, flags, text.encode())
    _store(entry, compiled)
    return compiled


def stated_target(assembly: str) -> str:
    """The processor that assembly says it is for, without features; "" where it does not."""
    found = _DIRECTIVE.search(assembly)
    return found[1] if found else ""


class _Job(Struct, frozen=True):
    """One compilation.

    The cache holds it in two steps, as ccache does: under the command, the list of files that it
    read last time; under their contents, the result. So a header that changed is seen without
    asking the compiler, whatever macros chose the header.
    """

    source: Path
    target: str
    compiler: Compiler
    flags: tuple[str, ...]
    include_flags: tuple[str, ...]

    def _command_key(self) -> str:
        parts = (str(self.source), self.target, *self.flags, *self.include_flags, *_identities(self.compiler))
        return cache.key("inputs 1", *parts)

    def _result_key(self, inputs: Sequence[str]) -> str:
        parts: list[str | bytes] = [self._command_key()]
        for name in inputs:
            parts += [name, hashlib.sha256(_regular(self.source.parent / name)).digest()]
        return cache.key("compiled 1", *parts)

    def cached(self) -> Compiled | None:
        """The result of the same command on the same contents; starts no process."""
        inputs = self.inputs()
        if inputs is None:
            return None
        try:
            return _load(self._result_key(inputs))
        except OSError:  # an input is gone; the compiler will say which
            return None

    def inputs(self) -> list[str] | None:
        """What the same command read last time, relative to the source's folder; None where it never ran."""
        known = cache.load(self._command_key())
        try:
            return None if known is None else [str(name) for name in json.loads(known)]
        except (ValueError, TypeError):
            return None

    def compile(self) -> Compiled:
        before = _read(self.source)
        with _scratch() as folder:
            output, listing = folder / "kernel.s", folder / "inputs.d"
            self._translate(output, listing)
            assembly = output.read_text("utf-8", "replace")
            inputs = _prerequisites(listing.read_text("utf-8", "surrogateescape"))
            machine = [f for f in self.flags if f.startswith("-m") and f != "-mllvm"]
            data = _link(self.compiler, self.target, machine, output, self.source.name)
        compiled = _compiled(data, assembly, self.compiler, self.target, self.flags, before)
        self._remember(compiled, inputs, before)
        return compiled

    def precompile(self, output: Path) -> None:
        with _scratch() as folder:
            self._clang(output, folder / "inputs.d", (*_WITHOUT_ROCM, "-Xclang", "-emit-pch"))

    def _translate(self, output: Path, listing: Path) -> None:
        """Source to assembly, and the list of files that were read.

        ROCm's headers need its device libraries and a C++ library of the host, so they come in only
        for a source that asks for them.
        """
        try:
            self._clang(output, listing, _WITHOUT_ROCM)
            if _PRINTS in output.read_text("utf-8", "replace"):
                self._clang(output, listing, (*_WITHOUT_ROCM, "-DLAYOUTPROBE_PRINTS=1"))
        except ToolchainError as refused:
            diagnostics = refused.observed or ""
            if headers.rocm_include(self.compiler) is None:
                if lacking := headers.missing(diagnostics):
                    raise ToolchainError(
                        lacking[0], where={"source": self.source.name}, hint=lacking[1]
                    ) from None
                refused.hint = headers.explain(diagnostics) or refused.hint
                raise
            if not headers.needs_rocm(diagnostics):
                raise
            self._clang(output, listing, ())

    def _clang(self, output: Path, listing: Path, rocm: tuple[str, ...]) -> None:
        arguments = (
            *("-x", "hip", f"--offload-arch={self.target}", *_DEVICE_ONLY, *rocm, *_REPRODUCIBLE),
            # The driver's own -MD is not for device code.
            *("-Xclang", "-dependency-file", "-Xclang", str(listing)),
            *("-Xclang", "-sys-header-deps", "-Xclang", "-MT", "-Xclang", "kernel"),
            *(*self.include_flags, *self.flags),
            *("-S", "-o", str(output), "--", self.source.name),
        )
        _run("clang", (*self.compiler.command, *arguments), self.source.name, self.source.parent)

    def _remember(self, compiled: Compiled, inputs: list[str], before: bytes) -> None:
        if not cache.keeps():  # to digest all inputs takes time, too
            return
        try:
            if _read(self.source) == before:  # edited meanwhile: which of the two was compiled?
                cache.store(self._command_key(), json.dumps(inputs).encode())
                _store(self._result_key(inputs), compiled)
        except OSError:
            return


def _existing(source: Path) -> Path:
    if not source.is_file():
        raise UsageError("there is no such source file", where={"file": source})
    real = source.resolve()
    if real.suffix.lower() not in _SOURCES:
        # A compiler quotes the lines that it does not understand: those of other files are not for a report.
        raise UsageError(
            "no source by its name", where={"file": real}, expected="a suffix: " + ", ".join(_SOURCES)
        )
    return real


def _read(source: Path) -> bytes:
    try:
        return _regular(source)
    except OSError as problem:
        raise UsageError(
            "the source cannot be read", where={"file": source}, observed=str(problem)
        ) from problem


def _regular(path: Path) -> bytes:
    """The bytes of a file; OSError for a device that never ends, and for a file that is too large."""
    if not path.is_file():
        raise OSError(f"{path} is no regular file")
    with path.open("rb") as stream:
        data = stream.read(_MAX_SOURCE + 1)
    if len(data) > _MAX_SOURCE:
        raise OSError(f"{path} is larger than {_MAX_SOURCE >> 20} MiB")
    return data


def _compiler(compiler: Compiler | str | None, target: str) -> Compiler:
    if not _TARGET.fullmatch(target):
        raise UsageError(f"{target!r} is no name of a processor")
    if not isinstance(compiler, Compiler):
        compiler = find_compiler(compiler, target=target)
    if not compiler.linker:
        raise ToolchainError(
            "no linker goes with the compiler",
            where={"compiler": compiler.command[0]},
            expected="ld.lld beside it or on PATH, or the ziglang package",
            hint=INSTALL,
        )
    return compiler


def _identities(compiler: Compiler) -> tuple[str, ...]:
    files = (identity(Path(compiler.command[0])), identity(Path(compiler.linker[0])))
    return (*compiler.command, compiler.version, *compiler.linker, *files)


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder for the intermediate files of one build."""
    import tempfile

    try:
        with tempfile.TemporaryDirectory(prefix="layoutprobe-") as folder:
            yield Path(folder)
    except OSError as problem:
        raise ToolchainError(
            "the intermediate files of a compilation cannot be kept",
            where={"folder": tempfile.gettempdir()},
            observed=str(problem),
            hint="make room there, or name another folder with TMPDIR",
        ) from problem


def _link(compiler: Compiler, target: str, flags: Sequence[str], assembly: Path, name: str) -> bytes:
    """Assemble and link, beside the assembly; `name` is what messages call the source."""
    folder = assembly.parent
    machine = ("-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-fno-color-diagnostics")
    command = (*compiler.command, *machine, *flags, "-c", "-o", "kernel.o", "--", assembly.name)
    _run("clang", command, name, folder)
    command = (*compiler.linker, "-shared", "--no-undefined", "-o", "kernel.co", "kernel.o")
    _run("ld.lld", command, name, folder)
    return (folder / "kernel.co").read_bytes()


def _run(tool: str, command: Sequence[str], name: str, folder: Path) -> None:
    from layoutprobe.toolchain.process import LIMITS, run

    done = run(command, folder)
    if done.returncode:
        text = (done.stderr or done.stdout).strip("\n")
        cut = "" if len(text) <= _MAX_DIAGNOSTICS else "\n[cut here]"
        raise ToolchainError(
            f"{tool} refused {name}",
            where={"command": command[0], "exit status": done.returncode},
            observed="\n" + text[:_MAX_DIAGNOSTICS] + cut,
            hint=LIMITS if done.returncode < 0 or _CRASHED.search(text) else _remedy(text),
        )


def needs_wave64(refusal: str) -> bool:
    """Whether clang refused a source because it is for waves of 64 lanes, on a target whose default is 32."""
    return any("needs target feature" in line and "wavefrontsize64" in line for line in refusal.splitlines())


def _remedy(refusal: str) -> str | None:
    return f'the kernel is for waves of 64: `flags = ["{WAVE64}"]`' if needs_wave64(refusal) else None


def _prerequisites(rule: str) -> list[str]:
    """File names of a make rule "kernel: a.hip b\\ c.h"; names relative to the source's directory."""
    _, _, listed = rule.replace("\\\n", " ").partition(":")
    names = re.findall(r"(?:\\.|\S)+", listed)
    return [re.sub(r"\\([ #\\])", r"\1", name).replace("$$", "$") for name in names]


def _compiled(
    data: bytes, assembly: str, compiler: Compiler, target: str, flags: Sequence[str], source: bytes
) -> Compiled:
    return Compiled(data, assembly, made_by(compiler.version, compiler.kind, target, flags, source, data))


def made_by(
    version: str, kind: str, target: str, flags: Sequence[str], source: bytes, data: bytes
) -> Mapping[str, str]:
    """What made a code object: `Compiled.toolchain`."""
    return {
        "compiler": version,
        "kind": kind,
        "target": target,
        "flags": " ".join(flags),
        "source": hashlib.sha256(source).hexdigest(),
        "code_object": hashlib.sha256(data).hexdigest(),
    }


def _store(entry: str, compiled: Compiled) -> None:
    head = json.dumps({"toolchain": dict(compiled.toolchain), "bytes": len(compiled.data)})
    cache.store(entry, b"\n".join((head.encode(), compiled.data + compiled.assembly.encode())))


def _load(entry: str) -> Compiled | None:
    raw = cache.load(entry)
    if raw is None:
        return None
    head, _, rest = raw.partition(b"\n")
    try:
        known = json.loads(head)
        size, toolchain = int(known["bytes"]), {str(k): str(v) for k, v in known["toolchain"].items()}
        return Compiled(rest[:size], rest[size:].decode(), toolchain)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
