"""Optional parts: what the core does not know, registers itself.

A part is an entry point of the group below: a function without arguments that adds targets, backends or
languages to their registries. Parts are loaded when a name is asked for that the core does not know, or
when all names are listed: whoever needs none of them pays for none.
"""

from __future__ import annotations

from functools import cache

from layoutprobe.errors import UsageError

GROUP = "layoutprobe.extras"


@cache
def load() -> None:
    """Let every installed part register itself; once per process.

    Raises:
        UsageError: a part cannot be loaded; names it.
    """
    from importlib.metadata import entry_points  # here, as only this needs it, and it is slow to import

    for entry in entry_points(group=GROUP):
        try:
            entry.load()()
        except Exception as error:  # whatever a stranger's code raises
            raise UsageError(
                f"the optional part {entry.name[:40]!r} cannot be loaded",
                where={"entry point": entry.value[:80]},
                observed=f"{type(error).__name__}: {error}",
                hint="uninstall the package that brings it, or mend it",
            ) from error
