"""Where the cells of a gate run: processes of this machine, or the workers of a cluster.

Anything that is an `Executor` of `concurrent.futures` will do. What is lost with a worker is the cell that it had.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

from layoutprobe.errors import UsageError
from layoutprobe.gate.cells import PROCESSES

DASK = "dask"
_T = TypeVar("_T")


class Processes(Executor):
    """Processes of this machine, each with one cell at a time.

    In a pool of them all, a process that dies would take the cells of the others with it.
    """

    def __init__(self, workers: int) -> None:
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="cell")
        self._mine = threading.local()
        self._pools: list[ProcessPoolExecutor] = []

    def submit(self, call: Callable[..., _T], /, *args: Any, **named: Any) -> Future[_T]:
        """See Executor."""
        return self._threads.submit(self._run, call, args, named)

    def _run(self, call: Callable[..., _T], args: tuple[Any, ...], named: dict[str, Any]) -> _T:
        try:
            return self._process().submit(call, *args, **named).result()
        except BrokenExecutor:
            self._mine.pool = None  # the next cell of this thread gets a process that lives
            raise

    def _process(self) -> ProcessPoolExecutor:
        pool: ProcessPoolExecutor | None = getattr(self._mine, "pool", None)
        if pool is None:
            # Spawned, not forked: the caller has threads. It looks for garbage as seldom as the caller does.
            pool = self._mine.pool = ProcessPoolExecutor(
                1, get_context("spawn"), initializer=gc.set_threshold, initargs=gc.get_threshold()
            )
            self._pools.append(pool)
        return pool

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See Executor."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        for pool in self._pools:
            pool.shutdown(wait=wait, cancel_futures=cancel_futures)


@contextmanager
def executor_named(name: str, workers: int) -> Iterator[Executor]:
    """An executor for as long as it is needed.

    Args:
        name: "processes"; "dask", a cluster of processes on this machine; "dask:ADDRESS", whose scheduler is there.
        workers: processes, where they are started here.

    Raises:
        UsageError: no such executor, or its package or scheduler is missing.
    """
    kind, _, address = name.partition(":")
    if kind == DASK:
        with _dask(address, workers) as executor:
            yield executor
        return
    if name != PROCESSES:
        raise UsageError(
            f"no executor named {name[:80]!r}",
            expected=f"{PROCESSES}, {DASK} or {DASK}:ADDRESS of a scheduler",
        )
    executor = Processes(workers)
    try:
        yield executor
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    executor.shutdown()


@contextmanager
def _dask(address: str, workers: int) -> Iterator[Executor]:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise UsageError(
            "cells on a cluster of Dask need its package distributed, which is not installed",
            hint="pip install 'layoutprobe[dask]'",
        ) from None
    # The scheduler serves HTTP in any case: on a port that is free, as two may run beside each other.
    cluster = None if address else LocalCluster(workers, threads_per_worker=1, dashboard_address=":0")
    try:
        client = Client(address or cluster, timeout=_REACH)
    except (OSError, ValueError) as error:
        raise UsageError(
            "the scheduler of Dask cannot be reached",
            where={"address": address},
            observed=f"{type(error).__name__}: {error}",
            expected="such as dask:tcp://127.0.0.1:8786, where `dask scheduler` runs",
        ) from None
    try:
        yield client.get_executor()
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


_REACH = 10
"""Seconds in which a scheduler answers."""
