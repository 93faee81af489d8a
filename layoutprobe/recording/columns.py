"""Columns of a recording while it grows: pieces, joined once at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.recording.model import Accesses, ScalarWrites, Steps, Stored, VectorWrites

Array = NDArray[Any]
Made = tuple[VectorWrites, ScalarWrites, Steps, Accesses, Stored]


class _Pieces:
    """Columns of one table: a piece of each comes at a time."""

    def __init__(self, **types: Any) -> None:
        self.types = {name: np.dtype(dtype) for name, dtype in types.items()}
        self.pieces: dict[str, list[Array]] = {name: [] for name in types}
        self.count = 0
        self.nbytes = 0

    def add(self, count: int, /, **columns: Any) -> int:
        """Rows of the table; the number of the first. Numbers stand for all of the rows."""
        for name, column in columns.items():
            piece = np.asarray(column, self.types[name])
            piece = np.full(count, piece) if piece.ndim == 0 else np.array(piece)
            self.pieces[name].append(piece)
            self.nbytes += piece.nbytes
        self.count += count
        return self.count - count

    def joined(self, name: str, lanes: int = 0) -> Array:
        """A column; of shape [row, lane] where it has lanes."""
        empty = np.zeros((0, lanes) if lanes else 0, self.types[name])
        return np.concatenate([empty, *self.pieces[name]])


class Columns:
    """All tables of a recording."""

    def __init__(self) -> None:
        i, u = np.int32, np.uint32
        self._steps = _Pieces(inst=i, wave=i)
        self._vectors = _Pieces(row=i, wave=i, register=i, value=u, tag=i)
        self._undefined = _Pieces(at=i, bits=u)
        self._scalars = _Pieces(row=i, wave=i, register=i, value=u, tag=i, undefined=u)
        self._accesses = _Pieces(row=i, space=np.uint8, store=np.bool_, size=i, register=i, address=np.int64)
        self._stored = _Pieces(access=i, dword=i, value=u, tag=i, undefined=u)

    @property
    def nbytes(self) -> int:
        """Bytes that all of them take."""
        tables = (self._steps, self._vectors, self._undefined, self._scalars, self._accesses, self._stored)
        return sum(table.nbytes for table in tables)

    def steps(self, inst: Any, wave: Any) -> None:
        """Rows of `Steps`."""
        self._steps.add(len(wave), inst=inst, wave=wave)

    def vectors(
        self, row: Any, wave: Any, register: int, value: Array, tag: Any, undefined: Array | None
    ) -> None:
        """Writes of one VGPR by several waves; `undefined` is None where all bits are defined."""
        first = self._vectors.add(len(row), row=row, wave=wave, register=register, value=value, tag=tag)
        if undefined is not None:
            some = np.flatnonzero(undefined.any(axis=1))
            self._undefined.add(some.size, at=first + some, bits=undefined[some])

    def scalars(self, row: Any, wave: Any, register: Any, value: Any, tag: Any, undefined: Any) -> None:
        """Writes of scalar registers."""
        self._scalars.add(
            len(register), row=row, wave=wave, register=register, value=value, tag=tag, undefined=undefined
        )

    def accesses(self, row: Any, space: int, store: bool, size: int, register: int, address: Array) -> int:
        """One access by several waves; the number of the first."""
        return self._accesses.add(
            len(row), row=row, space=space, store=store, size=size, register=register, address=address
        )

    def stored(self, first: int, dword: int, value: Array, tag: Any, undefined: Array) -> None:
        """One dword of a store by several waves; `first` is the first one's access."""
        access = np.arange(first, first + len(value))
        self._stored.add(len(value), access=access, dword=dword, value=value, tag=tag, undefined=undefined)

    def finished(self, lanes: int) -> Made:
        """The tables. Accesses, and what they stored, are in the order of their rows."""
        v, u, s, a, d = self._vectors, self._undefined, self._scalars, self._accesses, self._stored
        vectors = VectorWrites(
            v.joined("row"), v.joined("wave"), v.joined("register"), v.joined("value", lanes),
            v.joined("tag", lanes), u.joined("at"), u.joined("bits", lanes),
        )  # fmt: skip
        scalars = ScalarWrites(*map(s.joined, ("row", "wave", "register", "value", "tag", "undefined")))
        row = a.joined("row")
        order = np.argsort(row, kind="stable")
        space, store, size, register = (
            a.joined(name)[order] for name in ("space", "store", "size", "register")
        )
        accesses = Accesses(row[order], space, store, size, register, a.joined("address", lanes)[order])
        place = np.empty(order.size, np.int32)
        place[order] = np.arange(order.size)
        access = place[d.joined("access")]
        order = np.lexsort((d.joined("dword"), access))
        stored = Stored(
            access[order], d.joined("dword")[order],
            *(d.joined(name, lanes)[order] for name in ("value", "tag", "undefined")),
        )  # fmt: skip
        return (
            vectors,
            scalars,
            Steps(self._steps.joined("inst"), self._steps.joined("wave")),
            accesses,
            stored,
        )
