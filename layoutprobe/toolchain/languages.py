"""The languages of probes, by the suffix of a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from layoutprobe import plugins
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import UsageError
from layoutprobe.toolchain.compile import compile_hip


class Build(Protocol):
    """Compiles a source."""

    def __call__(
        self,
        source: Path,
        *,
        target: str,
        defines: Mapping[str, str | int],
        include_dirs: Sequence[Path],
        compiler: str | None,
    ) -> tuple[CodeObject, Mapping[str, str]]:
        """The code object, and what compiled it.

        Raises:
            ToolchainError: there is no compiler, or it refuses the source.
        """
        ...


class Language(Struct, frozen=True):
    """A language of probes.

    Attributes:
        name: "hip".
        suffix: of its sources: ".hip".
        build: compiles one.
    """

    name: str
    suffix: str
    build: Build


def _hip(
    source: Path,
    *,
    target: str,
    defines: Mapping[str, str | int],
    include_dirs: Sequence[Path],
    compiler: str | None,
) -> tuple[CodeObject, Mapping[str, str]]:
    compiled = compile_hip(
        source, target=target, defines=defines, include_dirs=include_dirs, compiler=compiler
    )
    return load(compiled.data), compiled.toolchain


_LANGUAGES = {".hip": Language("hip", ".hip", _hip)}


def register_language(language: Language) -> None:
    """Add a language, or replace the one of that suffix."""
    _LANGUAGES[language.suffix] = language


def language_of(source: Path) -> Language:
    """The language of a source.

    Raises:
        UsageError: none is known by its suffix.
    """
    if source.suffix not in _LANGUAGES:
        plugins.load()
    if source.suffix not in _LANGUAGES:
        raise UsageError(
            f"no language is known by the suffix {source.suffix[:20]!r}",
            where={"file": source},
            expected="one of: " + ", ".join(_LANGUAGES),
        )
    return _LANGUAGES[source.suffix]
