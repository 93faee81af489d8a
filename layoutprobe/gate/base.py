"""The manifest as it stands on the branch that a change is to be merged into: read from git, or from a file."""

from __future__ import annotations

import os.path
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from layoutprobe.checks.registry import RULES, check_names
from layoutprobe.errors import UsageError
from layoutprobe.manifest.model import Manifest
from layoutprobe.manifest.read import read_manifest
from layoutprobe.manifest.relaxed import relaxations
from layoutprobe.manifest.section import LARGEST_FILE

_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./@{}~^+-]{0,250}")
_SECONDS = 20


def relaxed(given: str, now: Manifest) -> tuple[str, ...]:
    """What the manifest asks less than the base's.

    Args:
        given: a commit, branch or tag of the repository in which the manifest lies, or a file.
        now: the manifest.

    Raises:
        UsageError: no such ref or file, or no git.
    """
    file = Path(given)
    data, path = (None, file) if os.path.isfile(file) else (_from_git(given, now.path), now.path)
    if data is None and path is not file:
        return ()  # a new manifest relaxes nothing
    try:
        base = read_manifest(path, checks=check_names(), rules=[rule.id for rule in RULES], data=data)
    except UsageError as error:
        return (
            f"nothing was compared: {error.what} ({', '.join(f'{k} {v}' for k, v in error.where.items())})",
        )
    return relaxations(base, now)


def _from_git(ref: str, path: Path) -> bytes | None:
    """The file as that commit has it; None where it has none.

    `cat-file blob` gives bytes as they are: no filter or text conversion of the repository is run.
    """
    where = {"base": ref[:100], "file": path}
    if not _REF.fullmatch(ref):
        raise UsageError("the base is no file, and no name of a commit", where=where)
    git = shutil.which("git")
    if git is None:
        raise UsageError("there is no git to read the base with", where=where, hint="name a file")
    known, _ = _run([git, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"], path)
    if known:
        raise UsageError(
            "the base is no file, and no commit that the repository has",
            where=where,
            hint="a shallow clone lacks it: fetch it first (`git fetch --depth=1 origin REF`), or name a file",
        )
    name = f"{ref}:./{path.name}"
    missing, _ = _run([git, "cat-file", "-e", name], path)
    if missing:
        return None
    failed, data = _run([git, "cat-file", "blob", name], path)
    if failed or len(data) > LARGEST_FILE:
        raise UsageError(
            "the base's manifest cannot be read", where=where, expected=f"at most {LARGEST_FILE} bytes"
        )
    return data


def _run(command: Sequence[str], path: Path) -> tuple[int, bytes]:
    """Exit code and output of a command in the manifest's folder, of the output a little more than may be."""
    folder = path.resolve().parent
    try:
        with subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            try:
                data = process.stdout.read(LARGEST_FILE + 1)
                process.stdout.close()
                return process.wait(_SECONDS), data
            except BaseException:
                process.kill()
                raise
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError("git could not be run", where={"file": path}, observed=str(error)[:300]) from error
