"""Loads and calls a user's Python reference. It is code: only what the user allows is ever loaded.

It runs in bounded time, and what goes wrong in it is said to be the reference's.
"""

from __future__ import annotations

import ast
import contextvars
import ctypes
import importlib.util
import threading
import traceback
import warnings
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from layoutprobe.errors import UsageError
from layoutprobe.manifest.model import Contract, Reference
from layoutprobe.trace.reference_changes import SEEN, mixed
from layoutprobe.trace.reference_rewrites import MIXED
from layoutprobe.trace.subject import UndecidedError

_NAME = "layoutprobe_reference"
_CHANGED = 2.0
"""Seconds that a call of a changed reference may take: what was a bound of a loop may be anything."""


class _Uncached(SourceFileLoader):
    """Reads the source each time: byte code kept by date and size is stale after an edit within one second."""

    def path_stats(self, path: str) -> NoReturn:
        raise OSError("no byte code is kept")


def load_reference(contract: Contract, *, allowed: bool, seconds: float) -> Callable[..., Any] | None:
    """The function of a Reference contract; None for other contracts, or where not allowed.

    Args:
        contract: of the kernel.
        allowed: the user allows its code to run.
        seconds: that importing it, and each call of it, may take. A call raises UndecidedError where it
            takes longer, or fails.

    Raises:
        UsageError: the file cannot be imported, or has no such function.
    """
    if not isinstance(contract, Reference) or not allowed:
        return None
    where = {"file": contract.path, "function": contract.function}
    loader = _Uncached(_NAME, str(contract.path))
    spec = importlib.util.spec_from_file_location(loader.name, contract.path, loader=loader)
    if spec is None or spec.loader is None or not contract.path.is_file():
        raise UsageError("there is no such Python reference", where=where)
    module = importlib.util.module_from_spec(spec)
    try:
        _within(seconds, spec.loader.exec_module, module)
    except BaseException as error:  # whatever the user's module raises
        if _is_ours(error):
            raise
        raise UsageError(
            "the Python reference cannot be imported", where=where, observed=_said(error, contract.path)
        ) from error
    function = getattr(module, contract.function, None)
    if not callable(function):
        raise UsageError("the Python reference has no such function", where=where)
    return _Bounded(function, contract, seconds)


class _Bounded:
    """The reference, called in bounded time."""

    def __init__(self, function: Callable[..., Any], contract: Reference, seconds: float) -> None:
        self.function = function
        self.contract = contract
        self.seconds = seconds
        self.late = False

    def __call__(self, *arguments: Any) -> Any:
        name = f"your Python reference {self.contract.path.name}:{self.contract.function}"
        try:
            if self.late:  # it would take as long again
                raise TimeoutError
            return _within(self.seconds, self.function, *arguments)
        except TimeoutError as error:
            self.late = True
            text = f"{name} did not return within {self.seconds:g} seconds; limits.seconds sets the limit"
            raise UndecidedError(text) from error
        except BaseException as error:  # whatever the user's function raises
            if _is_ours(error):
                raise
            raise UndecidedError(f"{name} failed: {_said(error, self.contract.path)}") from error

    def changed(self, tree: ast.Module, seen: Callable[[Any], Any]) -> Callable[..., Any]:
        """The reference as a changed text of its file has it, each of whose steps gives `seen` what it computes; a
        call raises UndecidedError as one of the reference does."""
        module = ModuleType(_NAME)
        vars(module).update({SEEN: seen, MIXED: mixed})
        with warnings.catch_warnings():  # about expressions that nobody wrote
            warnings.simplefilter("ignore")
            code = compile(tree, str(self.contract.path), "exec")

        def function(*arguments: Any) -> Any:
            with warnings.catch_warnings():  # nor about what only the changed one computes
                warnings.simplefilter("ignore")
                exec(code, module.__dict__)
                return getattr(module, self.contract.function)(*arguments)

        return _Bounded(function, self.contract, min(self.seconds, _CHANGED))


def _within(seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function returns or raises; TimeoutError where that takes too long.

    It runs in a thread of its own, which gets an exception when its time is over: one that is inside of a
    long call to C takes it at the end of that call.
    """
    outcome: list[tuple[Any, BaseException | None]] = []

    def work() -> None:
        try:
            outcome.append((function(*arguments), None))
        except BaseException as error:
            outcome.append((None, error))

    context = contextvars.copy_context()  # which errors of numpy are told, for one
    thread = threading.Thread(target=context.run, args=(work,), daemon=True, name="python reference")
    thread.start()
    thread.join(seconds)
    if not outcome:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
        )
        raise TimeoutError(f"it did not return within {seconds:g} seconds")
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


def _is_ours(error: BaseException) -> bool:
    """The user of the command interrupts it; a thread cannot be."""
    return isinstance(error, KeyboardInterrupt)


def _said(error: BaseException, path: Path) -> str:
    """Type and text of an error, and the last line of the user's file that it passed."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    at = f" ({path.name}:{lines[-1]})" if lines else ""
    return f"{type(error).__name__}: {str(error)[:300]}{at}"
