"""A manifest written from launches that a program made: a table for each of its kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from layoutprobe.drafting.kernel_table import SeenDraft
from layoutprobe.drafting.references import References
from layoutprobe.drafting.seen import SeenLaunch
from layoutprobe.drafting.words import quoted, unique
from layoutprobe.errors import UsageError

HEADER = """\
# What `layoutprobe check` builds, launches and expects; docs/manifest.md describes every key.
# Written by `layoutprobe init --from-run` from launches that it watched: sizes, grids and extents are those that
# were seen, and expressions that fit all of them. What is marked FILL IN could not be seen.
"""


def draft_run(
    launches: Sequence[SeenLaunch],
    folder: Path,
    stem: str,
    symbols: Sequence[str] = (),
    references: References | None = None,
) -> tuple[str, int, Mapping[Path, bytes]]:
    """The text of a manifest, how many kernels are in it, and the code objects that it names.

    Args:
        launches: in their order, of any kernels.
        folder: directory where the manifest will lie; code objects lie beside it.
        stem: what their names begin with.
        symbols: kernels to put in, by symbol or name in the source; empty for all.
        references: takes up functions for kernels that are no product; None for none.

    Raises:
        UsageError: nothing was launched, or no such kernel.
    """
    kernels: dict[tuple[str, str], list[SeenLaunch]] = {}
    for launch in launches:
        kernels.setdefault((launch.code.digest, launch.kernel.name), []).append(launch)
    if not kernels:
        raise UsageError(
            "the program launched no kernel that could be drafted",
            hint="see what `layoutprobe run` says of it",
        )
    drafts = [SeenDraft(seen, references=references) for seen in kernels.values()]
    for symbol in symbols:
        if not any(symbol in one.called for one in drafts):
            known = ", ".join(one.name for one in drafts)
            raise UsageError(f"no kernel {symbol[:80]!r} was launched", expected=f"one of: {known}")
    drafts = [one for one in drafts if not symbols or one.called & set(symbols)]
    files = {}
    tables = []
    for one, name in zip(drafts, unique([one.name for one in drafts]), strict=True):
        path = folder / f"{stem}-{one.first.code.digest[:8]}.hsaco"
        files[path] = one.first.code.image
        origin = f"code_object = {quoted(path.name)}", f"symbol = {quoted(one.first.kernel.name)}"
        tables.append("\n".join(one.lines(name, origin)))
    return (
        "\n".join((HEADER, *("\n" * (at > 0) + table for at, table in enumerate(tables)))) + "\n",
        len(drafts),
        files,
    )
