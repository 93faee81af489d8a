"""Loads a user's Python reference. It is code: only what the user allows is ever loaded."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

from layoutprobe.errors import UsageError
from layoutprobe.manifest.model import Contract, Reference


def load_reference(contract: Contract, *, allowed: bool) -> Callable[..., Any] | None:
    """The function of a Reference contract; None for other contracts, or where not allowed.

    Raises:
        UsageError: the file cannot be imported, or has no such function.
    """
    if not isinstance(contract, Reference) or not allowed:
        return None
    where = {"file": contract.path, "function": contract.function}
    spec = importlib.util.spec_from_file_location("layoutprobe_reference", contract.path)
    if spec is None or spec.loader is None or not contract.path.is_file():
        raise UsageError("there is no such Python reference", where=where)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the user's module raises
        raise UsageError(
            "the Python reference cannot be imported",
            where=where,
            observed=f"{type(error).__name__}: {error}",
        ) from error
    function = getattr(module, contract.function, None)
    if not callable(function):
        raise UsageError("the Python reference has no such function", where=where)
    return function
