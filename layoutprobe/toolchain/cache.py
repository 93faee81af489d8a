"""A content-addressed cache on disk: what was computed once from the same bytes is not computed again.

One file per entry. Writers make a temporary file beside it and rename it into place, so that
concurrent runs see whole entries or none; every entry carries a digest of its key and contents, so that
a damaged or misplaced one counts as absent. A cache that cannot be written costs time and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

ENVIRONMENT = "LAYOUTPROBE_CACHE"
"""Names the cache directory; "off" switches the cache off."""

MAX_BYTES = 512 << 20
"""Entries used longest ago are dropped above this total."""

_MAX_ENTRY = 128 << 20
_MAGIC = b"layoutprobe cache 2\n"
_SUFFIX, _TEMPORARY = ".entry", ".tmp-"
_STALE_SECONDS = 3600.0

_SHARE = 64
"""A process looks through the directory at its first store, and after every 1/64 of MAX_BYTES stored."""
_stored_since: dict[Path, int] = {}
"""Directory -> bytes that this process has stored there since it last looked through it."""


def directory() -> Path | None:
    """The cache directory (which may not exist yet), or None when the cache is off."""
    named = os.environ.get(ENVIRONMENT)
    if named == "off":
        return None
    if named:
        return Path(named)
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("layoutprobe", appauthor=False))


def key(room: str, *parts: str | bytes) -> str:
    """The key of an entry: a digest of everything that its contents depend on.

    Args:
        room: who stores it, and in which version of its format: "compile 1".
        parts: source text, flags, versions... in a fixed order.
    """
    digest = hashlib.sha256()
    for part in (room, *parts):
        raw = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "little") + raw)  # lengths keep ("ab", "c") from ("a", "bc")
    return digest.hexdigest()


def load(key: str) -> bytes | None:
    """What was stored under a key, or None where nothing usable is."""
    root = directory()
    if root is None:
        return None
    path = root / (key + _SUFFIX)
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_ENTRY + 1)
    except OSError:
        return None
    start = len(_MAGIC) + 32
    payload = raw[start:]
    if len(raw) > _MAX_ENTRY or raw[:start] != _seal(key, payload):
        return None
    with suppress(OSError):
        os.utime(path)  # eviction goes by last use
    return payload


@contextmanager
def nothing_kept() -> Iterator[None]:
    """While it lasts nothing is stored: what is tried and thrown away would drive out what is used."""
    global _keeps
    before, _keeps = _keeps, False
    try:
        yield
    finally:
        _keeps = before


def keeps() -> bool:
    """Whether what is stored now stays, as far as the cache can be written."""
    return _keeps


_keeps = True


def store(key: str, payload: bytes) -> None:
    """Keep `payload` under a key. Does nothing where the cache is off or cannot be written."""
    root = directory()
    if not _keeps or root is None or len(payload) + len(_MAGIC) + 32 > _MAX_ENTRY:
        return
    with suppress(OSError):
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(root / (key + _SUFFIX), _seal(key, payload) + payload)
        stored = _stored_since.get(root, MAX_BYTES) + len(payload)
        if stored > MAX_BYTES // _SHARE:
            _evict(root)
            stored = 0
        _stored_since[root] = stored


def _seal(key: str, payload: bytes) -> bytes:
    """What stands in front of an entry."""
    return _MAGIC + hashlib.sha256(key.encode() + b"\n" + payload).digest()


def is_empty() -> bool:
    """Whether there is a cache, and nothing in it yet."""
    root = directory()
    return root is not None and next(_files(root), None) is None


def size() -> int:
    """Bytes that the entries take."""
    root = directory()
    return sum(entry.size for entry in _files(root)) if root else 0


def _write(path: Path, raw: bytes) -> None:
    import tempfile

    descriptor, temporary = tempfile.mkstemp(prefix=_TEMPORARY, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(raw)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


class _File(Struct, frozen=True):
    name: str
    path: str
    size: int
    modified: float


def _files(root: Path) -> Iterator[_File]:
    """Files that this module made; others in the directory are none of its business."""
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if entry.name.endswith(_SUFFIX) or entry.name.startswith(_TEMPORARY):
                with suppress(OSError):  # another run may have dropped it
                    status = entry.stat(follow_symlinks=False)
                    yield _File(entry.name, entry.path, status.st_size, status.st_mtime)


def _evict(root: Path) -> None:
    """Drop temporaries of runs that were killed, then the entries used longest ago."""
    files = list(_files(root))
    stale = [f for f in files if f.name.startswith(_TEMPORARY)]
    entries = sorted((f for f in files if f.name.endswith(_SUFFIX)), key=lambda f: f.modified)
    excess = sum(f.size for f in entries) - MAX_BYTES
    dropped = [f for f in stale if time.time() - f.modified > _STALE_SECONDS]
    for file in entries:
        if excess <= 0:
            break
        dropped.append(file)
        excess -= file.size
    for file in dropped:
        with suppress(OSError):
            os.unlink(file.path)
