"""Which launches of a program somebody asks for: by kernel, by number, or all."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.codeobj.parameters import signature_of
from layoutprobe.engine.base import Dispatch


class Choice(Struct, frozen=True, dict=True):
    """Some launches.

    Attributes:
        kernels: symbols, or names in the source; empty for all.
        launches: numbers, from 1 on; empty for all.
    """

    kernels: frozenset[str] = frozenset()
    launches: frozenset[int] = frozenset()

    @cached_property
    def _known(self) -> dict[tuple[str, str], frozenset[str]]:
        """Names that were worked out, by code object and symbol."""
        return {}

    def __bool__(self) -> bool:
        """Somebody asks for less than all."""
        return bool(self.kernels or self.launches)

    def includes(self, dispatch: Dispatch, number: int) -> bool:
        """Whether the launch of that number is among them."""
        if self.launches and number not in self.launches:
            return False
        return not self.kernels or not self.kernels.isdisjoint(self._names(dispatch.code, dispatch.kernel))

    def _names(self, code: CodeObject, kernel: Kernel) -> frozenset[str]:
        """Under which a kernel may be asked for."""
        key = code.digest, kernel.name
        if key not in self._known:
            signature = signature_of(code, kernel)
            self._known[key] = frozenset({kernel.name, signature.name if signature else kernel.name})
        return self._known[key]
