"""Builds what a command line asks for: device code, its bundle inside the host's object, and a program.

source -> code object per target -> bundle -> host object -> program, linked to the emulated runtime
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from layoutprobe.codeobj.bundle import bundle
from layoutprobe.errors import ToolchainError, UsageError
from layoutprobe.extras.hiphost.driver.host import Host, find_host, needs_cpp, runtime
from layoutprobe.extras.hiphost.driver.words import Job, Source
from layoutprobe.files import writing
from layoutprobe.toolchain.compile import compile_hip
from layoutprobe.toolchain.find import Compiler, probe
from layoutprobe.toolchain.headers import OWN, STOOD_IN_FOR
from layoutprobe.toolchain.process import with_zigs_folder

DEFINES = ("-D__HIP_PLATFORM_AMD__=1", "-DLAYOUTPROBE_HIPCC=1")
"""As hipcc defines; with the second, the project's headers bring the host's side along."""
_SUFFIXES = {"object": ".o", "assembly": ".s"}
_OPTIMISED = "-O3"
"""Where nothing is said, as hipcc does."""
_LINKED = "-O1"
"""One level, as zig compiles the C++ library once for each."""
_QUIET = ("-Wno-unused-command-line-argument", "-Wno-pass-failed")


class RefusedError(Exception):
    """A tool has refused, and has said why.

    Attributes:
        code: its exit status.
    """

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def build(job: Job) -> int:
    """Do what is asked for.

    Returns:
        0, or the exit status of the tool that refused; it has said why on standard error.

    Raises:
        UsageError: a file cannot be read or written.
        ToolchainError: there is no compiler.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="layoutprobe-") as folder:
            _Build(job, find_host(), Path(folder)).run()
    except RefusedError as refused:
        return refused.code
    return 0


class _Build(Struct):
    job: Job
    host: Host
    scratch: Path

    def run(self) -> None:
        job = self.job
        if job.side == "device":
            for source in job.sources:
                self._device_file(source)
        elif job.makes == "program":
            self._link()
        else:
            for source in job.sources:
                self._compile(source, self._output(source))

    def _output(self, source: Source) -> Path | None:
        """Where a source's object or assembly goes; None for standard output, or where nothing is made."""
        if self.job.output is not None:
            return Path(self.job.output)
        suffix = _SUFFIXES.get(self.job.makes)
        return Path(Path(source.path).name).with_suffix(suffix) if suffix else None

    def _compile(self, source: Source, output: Path | None) -> None:
        """The host's object of a source, with its device code inside; or what else was asked for."""
        action = {"program": ["-c"], "object": ["-c"], "assembly": ["-S"], "nothing": ["-fsyntax-only"]}
        words = [*action.get(self.job.makes, []), *self.job.host]
        if output is not None:
            words += ["-o", str(output)]
        if source.language == "hip":
            if self.job.makes in ("program", "object", "assembly") and self.job.side == "both":
                fat = self.scratch / f"{len(list(self.scratch.iterdir()))}.hipfb"
                fat.write_bytes(self._bundle(source))
                words += ["-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(fat)]
            self._tool(*self._hip_for_the_host(), *words, source.path)
            return
        if self.job.makes == "nothing":  # zig would go on to link
            words = ["-c", *self.job.host, "-o", str(self.scratch / "nothing.o")]
        known = (*self.host.command(source.language), *self._common(), "-isystem", str(OWN))
        self._tool(*known, *words, "-x", source.language, source.path)

    def _hip_for_the_host(self) -> tuple[str, ...]:
        return (
            *(*self.host.clang, "-x", "hip", "--cuda-host-only", "-nogpulib", "-nogpuinc", "-fPIC"),
            *(*self._common(), "-nostdinc", "-isystem", str(OWN), *self.host.headers),
        )

    def _common(self) -> tuple[str, ...]:
        colour = ("-fcolor-diagnostics",) if sys.stderr is not None and sys.stderr.isatty() else ()
        folders = [f"-I{folder}" for folder in self.job.include_dirs]
        return (*_QUIET, *colour, *DEFINES, *self._level(), *folders, *self.job.common)

    def _level(self) -> tuple[str, ...]:
        return () if any(word.startswith("-O") for word in self.job.common) else (_OPTIMISED,)

    # Device

    def _bundle(self, source: Source) -> bytes:
        return bundle({target: self._code_object(source, target)[0] for target in self.job.targets})

    def _code_object(self, source: Source, target: str) -> tuple[bytes, str]:
        """The device code of a source, and its assembly."""
        try:
            made = compile_hip(
                Path(source.path),
                target=target,
                include_dirs=[Path(folder) for folder in self.job.include_dirs],
                flags=(*DEFINES, *self._level(), *self.job.common),
                library=(*self.host.headers, *(STOOD_IN_FOR if self.job.side == "device" else ())),
                compiler=self._clang(target),
            )
        except ToolchainError as refused:
            # What the host's compiler refuses, too, it names with paths as they were typed.
            self._tool(*self._hip_for_the_host(), "-fsyntax-only", source.path)
            print((refused.observed or refused.what).strip("\n"), file=sys.stderr)
            if refused.hint:
                print(f"layoutprobe hipcc: {refused.hint}", file=sys.stderr)
            raise RefusedError(1) from refused
        return made.data, made.assembly

    def _clang(self, target: str) -> Compiler:
        compiler, problem = probe("ziglang", self.host.zig, target)
        if compiler is None:
            raise UsageError(f"there is no code for --offload-arch={target[:40]}", observed=problem)
        return compiler

    def _device_file(self, source: Source) -> None:
        """Device code alone: a code object, a bundle of several, or assembly."""
        if self.job.makes == "nothing":
            for target in self.job.targets:
                self._code_object(source, target)
            return
        if self.job.makes == "text":
            raise UsageError("the preprocessor's text is that of the host", hint="leave the side out")
        codes = {target: self._code_object(source, target) for target in self.job.targets}
        first, *more = codes.values()
        listing = self.job.makes == "assembly"
        if listing and more:
            raise UsageError("assembly of several targets is several files", hint="name one --offload-arch")
        name = self.job.output or Path(source.path).with_suffix(".s" if listing else ".hsaco").name
        data = first[1].encode() if listing else first[0]
        with writing(name, binary=True, what="the device code") as stream:
            stream.write(bundle({t: code for t, (code, _) in codes.items()}) if more else data)

    # Link

    def _link(self) -> None:
        words, objects = [], []
        for number, one in enumerate(self.job.inputs):
            if isinstance(one, Source):
                made = self.scratch / f"{number}-{Path(one.path).stem}.o"
                self._compile(one, made)
                objects.append(made)
            elif not one.startswith("-") and Path(one).suffix == ".o":
                objects.append(Path(one))
            words.append(str(made) if isinstance(one, Source) else one)
        opaque = any(not one.startswith("-") and Path(one).suffix != ".o" for one in words)
        path, options = runtime(self.scratch)
        language = "c++" if opaque or needs_cpp(objects) else "c"
        output = self.job.output or "a.out"
        self._tool(*self.host.command(language), *_QUIET, _LINKED, *words, str(path), *options, "-o", output)

    def _tool(self, *command: str) -> None:
        """Run a tool; what it prints is the user's to read.

        Raises:
            RefusedError: it has refused.
        """
        _run(command)


def _run(command: Sequence[str]) -> None:
    try:
        code = subprocess.call(command, env=with_zigs_folder(os.environ))
    except OSError as refused:
        raise ToolchainError(f"{command[0]} cannot be run", observed=str(refused)) from refused
    if code:
        raise RefusedError(code if code > 0 else 1)
