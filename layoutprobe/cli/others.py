"""The other side of `inspect --diff`: another kernel, a recording, or the same kernel at another commit."""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layoutprobe.cli.check import manifest_path
from layoutprobe.errors import UsageError
from layoutprobe.manifest.files import SUFFIX_OF_RECORDINGS

if TYPE_CHECKING:
    from layoutprobe.manifest.model import Sizes
    from layoutprobe.recording.model import Group, Recording

_SECONDS = 60
_EXPECTED = "a recording, a manifest, FILE#KERNEL, another kernel of the manifest, or a commit"


def other(arguments: argparse.Namespace, kernel: str | None, size: Sizes | None, group: Group) -> Recording:
    """The recording that `--diff` names.

    Args:
        arguments: of the command.
        kernel: name of the kernel that is compared.
        size: at which it ran.
        group: workgroup.

    Raises:
        ProbeError: there is no such kernel, recording or commit, or it does not run.
    """
    from layoutprobe.inspector.inspect import inspect
    from layoutprobe.recording.file import read_recording

    name = arguments.diff
    file, _, named = name.partition("#")
    path = Path(file)
    if path.suffix.lower() == SUFFIX_OF_RECORDINGS:
        return read_recording(path)
    if path.exists():
        return inspect(manifest_path(file), named or kernel, size=size, arch=arguments.arch).recording(group)
    manifest = Path(arguments.manifest)
    if manifest.suffix.lower() == SUFFIX_OF_RECORDINGS:
        raise UsageError(
            f"there is no file {file[:200]!r} to compare with", expected="a recording or a manifest"
        )
    manifest = manifest_path(arguments.manifest)
    if name in _kernels(manifest):
        return inspect(manifest, name, size=size, arch=arguments.arch).recording(group)
    with _at_commit(manifest, name) as there:
        return inspect(there, kernel, size=size, arch=arguments.arch).recording(group)


def _kernels(manifest: Path) -> list[str]:
    from layoutprobe.checks.registry import RULES, check_names
    from layoutprobe.manifest.read import read_manifest

    found = read_manifest(manifest, checks=check_names(), rules=[rule.id for rule in RULES])
    return [case.name for case in found.kernels]


@contextmanager
def _at_commit(manifest: Path, commit: str) -> Iterator[Path]:
    """The manifest as it was at a commit, with the whole tree around it, in a folder that vanishes.

    Raises:
        UsageError: there is no repository, no such commit, or no such manifest in it.
    """
    folder = manifest.resolve().parent
    root = _git(folder, "rev-parse", "--show-toplevel", what=commit).decode().strip()
    _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}", what=commit)
    packed = _git(Path(root), "archive", "--format=tar", f"{commit}^{{commit}}", what=commit)
    with tempfile.TemporaryDirectory(prefix="layoutprobe-") as there:
        with tarfile.open(fileobj=io.BytesIO(packed)) as tree:
            _unpack(tree, Path(there).resolve())
        found = Path(there) / manifest.resolve().relative_to(Path(root).resolve())
        if not found.is_file():
            raise UsageError(f"{commit[:80]} has no {manifest.name}", where={"file": manifest})
        yield found


def _unpack(tree: tarfile.TarFile, folder: Path) -> None:
    """What git has packed, but for links that lead out of it: no path does. Python has filters from 3.11.4 on."""
    options: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    for member in tree:
        leads_to = os.path.normpath((folder / member.name).parent / member.linkname)
        if not member.issym() or Path(leads_to).is_relative_to(folder):
            tree.extract(member, folder, **options)


def _git(folder: Path, *words: str, what: str) -> bytes:
    """What git prints.

    Raises:
        UsageError: it is not there, or refuses.
    """
    if what.startswith("-"):
        raise UsageError(f"{what[:80]!r} is nothing to compare with", expected=_EXPECTED)
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", b"") or b""
        raise UsageError(
            f"{what[:80]!r} is nothing to compare with", expected=_EXPECTED,
            observed=said.decode("utf-8", "replace").strip()[:200] or None,
        ) from error  # fmt: skip
    return done.stdout
