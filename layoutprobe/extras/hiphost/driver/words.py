"""The command line of a compiler driver, sorted: what is for the host, for the device, and for the linker.

Source of the options: AMD's documentation of hipcc, and that of clang, whose options hipcc takes.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct, field

from layoutprobe.arch import DEFAULT
from layoutprobe.errors import UsageError, did_you_mean

COMPILE_FLAGS, LINK_FLAGS = "HIPCC_COMPILE_FLAGS_APPEND", "HIPCC_LINK_FLAGS_APPEND"
"""Environment variables whose words hipcc adds when it compiles, and when it links."""

_HIP = (".hip", ".cu", ".cpp", ".cc", ".cxx", ".c++", ".C", ".cp", ".CPP")
_LANGUAGES = {**dict.fromkeys(_HIP, "hip"), ".c": "c", ".s": "assembler", ".S": "assembler-with-cpp"}
"""Suffix of a source -> its language: hipcc takes C++ for HIP."""
_MODES = {
    "-c": "object",
    "-S": "assembly",
    "-E": "text",
    "-M": "text",
    "-MM": "text",
    "-fsyntax-only": "nothing",
}
_SIDES = {
    "--cuda-host-only": "host", "--offload-host-only": "host",
    "--cuda-device-only": "device", "--offload-device-only": "device", "--genco": "device",
}  # fmt: skip
_TARGETS = ("--offload-arch=", "--amdgpu-target=", "--cuda-gpu-arch=")
_NO_TARGETS = ("--no-offload-arch=",)
# With a word of their own behind them.
_PATHS = ("-include", "-isystem", "-iquote", "-idirafter", "-imacros", "-iprefix")
_BOTH = (*_PATHS, "-D", "-U", "-Xclang", "-mllvm", "-Xarch_host", "-Xarch_device", "-Xpreprocessor")
_HOST = ("-MF", "-MT", "-MQ", "-MJ", "-Xassembler")
_LINK = ("-l", "-L", "-Xlinker", "-T", "-u", "-z", "-rpath", "-e")
# By their beginnings.
_HOST_BEGINNINGS = (
    *("-M", "-march=", "-mtune=", "-mcpu=", "-msse", "-mavx", "-mfma", "-mf16c", "-mbmi", "-m64", "-m32"),
    *("-fPI", "-fpi", "-fno-PI", "-fno-pi", "-fvisibility", "-fopenmp", "-fsanitize", "-pg", "--coverage"),
    *("-fprofile", "-flto", "-fstack-protector", "-Wa,", "-v"),
)
_LINK_BEGINNINGS = (
    *("-l", "-L", "-Wl,", "-shared", "-static", "-rdynamic", "-pie", "-no-pie", "-s", "-nostartfiles"),
    *("-fuse-ld=", "-T", "-z", "-nodefaultlibs"),
)
_ALSO_LINK = ("-pthread", "-fsanitize", "-fopenmp", "-flto", "-m32", "-m64", "--coverage", "-v")
"""What the linker's driver is told, too."""
_PASSED_OVER = (
    *("--rocm-path=", "--hip-path=", "--rocm-device-lib-path=", "--hip-device-lib-path=", "--gcc-toolchain="),
    *("--hip-link", "--offload-compress", "--no-offload-compress", "-offload-compress", "-parallel-jobs="),
    *("-fno-gpu-rdc", "-fhip-new-launch-api", "-nogpulib", "-nogpuinc", "-stdlib=", "-save-temps"),
    *("--save-temps", "--offload-new-driver", "--no-offload-new-driver", "-use-staticlib", "-use-sharedlib"),
)
"""Where ROCm is, and how its parts go together: that says nothing here."""
_PASSED_LIBRARIES = ("-lamdhip64", "-lhiprtc", "-lhip_hcc", "-lhsa-runtime64")
_RESPONSE_DEPTH, _RESPONSE_BYTES = 8, 4 << 20


class Source(Struct, frozen=True):
    """A source, and the language that it is in: "hip", "c", "c++" or an assembler's."""

    path: str
    language: str


class Job(Struct):
    """What one command line asks for.

    Attributes:
        makes: "program" (or a library), "object", "assembly", "text" (-E, -M) or "nothing" (-fsyntax-only).
        side: "both", "host" or "device".
        output: the file; None where its name follows from the source.
        targets: processors, each once.
        common: what both compilations of a source are told, in order.
        host: what that of the host is told besides.
        include_dirs: of -I, in order.
        inputs: sources, and words for the linker, in order.
    """

    makes: str = "program"
    side: str = "both"
    output: str | None = None
    targets: tuple[str, ...] = ()
    common: list[str] = field(default_factory=list)
    host: list[str] = field(default_factory=list)
    include_dirs: list[str] = field(default_factory=list)
    inputs: list[Source | str] = field(default_factory=list)

    @property
    def sources(self) -> list[Source]:
        """The sources alone."""
        return [one for one in self.inputs if isinstance(one, Source)]


def read(words: Sequence[str]) -> Job:
    """Sort a command line.

    Raises:
        UsageError: a word is missing, an option cannot be followed, or there is nothing to do.
    """
    job, language, targets = Job(), "", []
    rest = iter([*_expanded(words), *shlex.split(os.environ.get(COMPILE_FLAGS, ""))])
    for word in rest:
        if word in _MODES:
            job.makes = _MODES[word]
            job.host += [word] if job.makes == "text" else []
        elif word in _SIDES:
            job.side = _SIDES[word]
        elif word == "-x" or (word.startswith("-x") and not word.startswith("-xnack")):
            language = word[2:] or _next(rest, word)
        elif word == "-o" or (word.startswith("-o") and len(word) > 2 and not word.startswith("-offload")):
            job.output = word[2:] or _next(rest, word)
        elif word.startswith(_TARGETS):
            targets += [name for name in word.partition("=")[2].split(",") if name]
        elif word.startswith(_NO_TARGETS):
            targets = [name for name in targets if name != word.partition("=")[2]]
        elif word.startswith("-I"):
            job.include_dirs.append(word[2:] or _next(rest, word))
        elif not word.startswith("-") or word == "-":
            job.inputs.append(_input(word, language))
        else:
            _option(job, word, rest)
    job.inputs += shlex.split(os.environ.get(LINK_FLAGS, ""))
    job.targets = tuple(dict.fromkeys(DEFAULT if name == "native" else name for name in targets or [DEFAULT]))
    return _checked(job)


def _option(job: Job, word: str, rest: Iterator[str]) -> None:
    """One option that says nothing about what is made."""
    if word == "-fgpu-rdc":
        raise UsageError(
            "device code of several sources cannot be linked together here",
            where={"option": word},
            hint="without it, each source's kernels call what the source (with its headers) defines",
        )
    if word == "-emit-llvm":
        raise UsageError(
            "device code is not given as LLVM's text here",
            where={"option": word},
            hint="-S --cuda-device-only gives the assembly that it becomes",
        )
    if word.startswith(_PASSED_OVER) or word in _PASSED_LIBRARIES:
        return
    if word in _HOST:
        job.host += [word, _next(rest, word)]
    elif word in _LINK:
        job.inputs += [word + _next(rest, word)] if word in ("-l", "-L") else [word, _next(rest, word)]
        if job.inputs[-1] in _PASSED_LIBRARIES:
            job.inputs.pop()
    elif word in _BOTH:
        value = _next(rest, word)
        job.common += [word, os.path.abspath(value) if word in _PATHS and os.path.exists(value) else value]
    elif word.startswith(_LINK_BEGINNINGS) and not word.startswith("-std"):
        job.inputs.append(word)
    elif word.startswith(_HOST_BEGINNINGS):
        job.host.append(word)
    else:
        job.common.append(word)
    if word.startswith(_ALSO_LINK):
        job.inputs.append(word)


def _checked(job: Job) -> Job:
    if not job.inputs:
        raise UsageError("no input files", expected="layoutprobe hipcc [OPTION ...] FILE ...")
    sources = job.sources
    if job.makes != "program" or job.side == "device":
        if not sources:
            raise UsageError(
                "no source among the input files", observed=", ".join(map(str, job.inputs))[:200]
            )
        if job.output is not None and len(sources) > 1 and job.makes != "text":
            raise UsageError(
                "-o names one file, and there are several sources", hint="compile them one by one"
            )
    for source in sources:
        if source.path == "-":
            raise UsageError("a source from standard input cannot be compiled", hint="name a file")
        if not Path(source.path).is_file():
            near = [entry.name for entry in Path(source.path).parent.glob("*" + Path(source.path).suffix)]
            raise UsageError(
                f"there is no such source file: {source.path[:200]!r}",
                hint=did_you_mean(Path(source.path).name, near) or None,
            )
    return job


def _input(word: str, language: str) -> Source | str:
    known = language if language not in ("", "none") else _LANGUAGES.get(Path(word).suffix, "")
    if word == "-":
        return Source(word, known)
    return Source(word, known) if known else word


def _next(rest: Iterator[str], option: str) -> str:
    word = next(rest, None)
    if word is None:
        raise UsageError(f"{option} needs a word behind it")
    return word


def _expanded(words: Sequence[str], depth: int = 0) -> Iterator[str]:
    """The words, those of response files (@FILE) in their place."""
    for word in words:
        if not word.startswith("@") or not os.path.isfile(word[1:]):
            yield word
            continue
        if depth == _RESPONSE_DEPTH:
            raise UsageError("response files name each other too deeply", where={"file": word[1:]})
        with open(word[1:], encoding="utf-8", errors="surrogateescape") as stream:
            text = stream.read(_RESPONSE_BYTES)
        yield from _expanded(shlex.split(text), depth + 1)
