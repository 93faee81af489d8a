"""Copies of the files that a kernel is compiled from, which are changed in place of the user's."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

import layoutprobe
from layoutprobe.errors import ProbeError
from layoutprobe.gate.build import Built, build, files_of, precompiled
from layoutprobe.gate.excerpts import MOST_BYTES, in_tree
from layoutprobe.manifest.files import ASSEMBLY
from layoutprobe.manifest.model import KernelCase
from layoutprobe.place import SourceLine

LINES = "-g"
"""For `SourceCopy.quick`: with the line of each instruction."""
_QUICK = "-g0"
"""No lines: they take time to write and to read, and what is only run needs none."""


class SourceCopy:
    """The files that a kernel is compiled from, beside each other as they are.

    Attributes:
        original: the kernel.
        case: the same, compiled from the copy.
        headers: flags for `quick`, with which headers are not read again each time.
        seconds: that `quick` may take; None: as any compilation.
    """

    headers: tuple[str, ...] = ()
    seconds: float | None = None

    def __init__(self, case: KernelCase, target: str, folder: Path) -> None:
        """Make a copy in a folder."""
        self.original, self._target = case, target
        self.files = _own(case, _read_by(case, target))
        self._root = Path(os.path.commonpath([file.parent for file in self.files]))
        self._folder = folder
        for file in self.files:
            self._of(file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, self._of(file))
        self.case = self._copied(case)

    @cached_property
    def texts(self) -> Mapping[Path, str]:
        """What each file holds, with its line ends as they are; those that are no UTF-8 are left out."""
        return {file: text for file in self.files if (text := _text(file)) is not None}

    def compiles_alike(self, toolchain: Mapping[str, str]) -> bool:
        """Whether the copy is whole: it compiles to the code that was checked."""
        try:
            return build(self.case, self._target).toolchain["code_object"] == toolchain.get("code_object")
        except ProbeError:
            return False

    @contextmanager
    def holding(self, file: Path, text: str) -> Iterator[None]:
        """Another text in place of a file's, for a while."""
        self._of(file).write_bytes(text.encode())
        try:
            yield
        finally:
            self._of(file).write_bytes(self.texts[file].encode())

    def quick(self, flags: Sequence[str] = (), longer: int = 1) -> Built:
        """The copy compiled as it stands, for runs alone.

        Args:
            flags: further ones.
            longer: how many times as long as else it may take.

        Raises:
            LateError: it takes longer than it may.
            ProbeError: see `build`.
        """
        from layoutprobe.toolchain.process import within

        with within(None if self.seconds is None else longer * self.seconds):
            return build(_with_flags(self.case, (_QUICK, *self.headers, *flags)), self._target)

    def precompiled(self, digest: str) -> tuple[str, ...]:
        """Flags for `headers`, where the source begins with some that are not the user's, and compiles with them to
        the same code as without: they are most of what a compiler reads. None otherwise.

        Args:
            digest: of what `quick` compiles to.
        """
        names = list(self._first_included(self.original.file.resolve()))
        if not names:
            return ()
        source = self._folder / "layoutprobe-headers.hip"
        source.write_text("".join(f"#include <{name}>\n" for name in names))
        try:
            case = _with_flags(self.case, (_QUICK,))
            flags = precompiled(case, self._target, source, source.with_suffix(".pch"))
            return flags if self.quick(flags).toolchain["code_object"] == digest else ()
        except ProbeError:
            return ()

    def _first_included(self, file: Path, within: tuple[Path, ...] = ()) -> Iterator[str]:
        """Headers that a file begins with, before anything that they might depend on: its own, or those that a header
        of the user's begins with. `within`: files that include it; some include each other."""
        rest = _COMMENT.sub(" ", self.texts.get(file, ""))
        guard = _GUARD.match(rest) if within else None
        at = guard.end() if guard else 0
        while (found := _ONE_MORE.match(rest, at)) is not None:
            folders = (file.parent, *self.original.include)
            own = next(
                (one for folder in folders if (one := (folder / found[1]).resolve()) in self.files), None
            )
            if own is not None:
                yield from self._first_included(own, (*within, file)) if own not in (*within, file) else ()
                return
            yield found[1]
            at = found.end()

    def _copied(self, case: KernelCase) -> KernelCase:
        """A kernel as it is compiled from the copy; with those of the same file that are launched before it."""
        include = tuple(
            self._of(path.resolve()) if path.resolve().is_relative_to(self._root) else path
            for path in case.include
        )
        before = tuple(self._copied(one) if one.source == case.source else one for one in case.before)
        return replace(case, source=self._of(case.file.resolve()), include=include, before=before)

    def find(self, line: SourceLine) -> Path | None:
        """The file of a line, where it is one of the user's."""
        case = self.original
        own = Path(line.file).name == case.file.name
        found = (case.file if own else case.file.parent / line.file).resolve()
        return found if found in self.files and in_tree(case, found) else None

    def named(self, file: Path) -> str:
        """A file as a place names it: relative to the directory of the kernel's source."""
        return os.path.relpath(file, self.original.file.resolve().parent)

    def _of(self, file: Path) -> Path:
        """Where the copy of a file lies."""
        return self._folder / file.relative_to(self._root)


def _with_flags(case: KernelCase, flags: Sequence[str]) -> KernelCase:
    """A kernel with further flags, and with it those of the same file: one compilation is enough for all."""
    before = tuple(_with_flags(one, flags) if one.source == case.source else one for one in case.before)
    return replace(case, flags=(*case.flags, *flags), before=before)


_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_ONE_MORE = re.compile(r"""\s*#[ \t]*include[ \t]*[<"]([^">\n]{1,400})[">][ \t]*\r?(?:\n|$)""")
_GUARD = re.compile(
    r"\s*#[ \t]*(?:pragma[ \t]+once|ifndef[ \t]+(\w+)\s*\n[ \t]*#[ \t]*define[ \t]+\1)[ \t]*\n"
)
"""What a header begins with, so that it is read once."""


_INCLUDE = re.compile(rb"""^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]{1,400})[">]""", re.MULTILINE)


def _own(case: KernelCase, read: Collection[Path]) -> list[Path]:
    """Files of the user's: the source, and what is found beside who includes it, or in directories of the manifest.

    What a compiler finds by itself, C++'s headers and HIP's, may be a hundred times as long, and has no fault of
    theirs.
    """
    own = {case.file.resolve(): None}
    waiting = list(own)
    while waiting:
        file = waiting.pop()
        for name in _INCLUDE.findall(file.read_bytes()):
            for folder in (file.parent, *case.include):
                found = (folder / os.fsdecode(name)).resolve()
                if found in read and found not in own and not _is_foreign(found):
                    own[found] = None
                    waiting.append(found)
    return list(own)


_ASM = re.compile(rb"\b(?:asm|__asm|__asm__)\b")


def has_assembly(case: KernelCase, target: str) -> bool:
    """Whether a kernel's instructions may be anybody's but the compiler's: its own sources are the judge."""
    if case.source is None or case.source.suffix.lower() in ASSEMBLY:
        return True
    return any(_ASM.search(file.read_bytes()) for file in _own(case, _read_by(case, target)))


def _read_by(case: KernelCase, target: str) -> set[Path]:
    return {file.resolve() for file in files_of(replace(case, arches=(target,)))[1:] if file.is_file()}


def _is_foreign(file: Path) -> bool:
    """A compiler's file, which may lie in the same tree, or one that is too long."""
    foreign = (Path(sys.prefix), Path(layoutprobe.__file__).parent)
    return any(file.is_relative_to(root.resolve()) for root in foreign) or file.stat().st_size > MOST_BYTES


def _text(file: Path) -> str | None:
    try:
        return file.read_bytes().decode()
    except UnicodeDecodeError:
        return None
