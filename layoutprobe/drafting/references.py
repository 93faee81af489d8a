"""Drafts of Python references: what a kernel's outputs are, where formulas were found that its launches obey, and
what is left to be filled in elsewhere."""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from layoutprobe.drafting import reference_parts
from layoutprobe.drafting.reference_guess import Guess, guesses
from layoutprobe.drafting.reference_terms import Shape, Tensors, bare
from layoutprobe.drafting.words import quoted

_HEADER = '''\
"""What kernels should compute: `layoutprobe check --allow-reference` calls these functions.

Drafted by `layoutprobe init`. A formula is a guess that fits what the kernel stored when it was launched on made-up
data: it says what the kernel does, so read whether that is what it should do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

Array = np.ndarray
'''


class DraftedReference:
    """What is known of the outputs of one kernel.

    Attributes:
        shapes, dtypes: number of an argument -> how formulas read it.
    """

    def __init__(self, tensors: Tensors) -> None:
        self.tensors = tensors
        self.found: Mapping[int, Guess] = guesses(tensors)
        reads = [one for guess in self.found.values() for one in guess.term.reads]
        self.shapes: dict[int, Shape] = {}
        for one in reads:
            self.shapes.setdefault(one.argument, one.shape)
        self.shapes.update({i: guess.shape for i, guess in self.found.items()})
        self.dtypes = {one.argument: one.dtype for one in reads}

    @property
    def missing(self) -> list[int]:
        """Outputs of which nothing is known."""
        return [i for i in self.tensors.outputs if i not in self.found]

    @property
    def unread(self) -> list[str]:
        """Inputs that no formula reads, though the kernel does."""
        read = {i for guess in self.found.values() for i in guess.term.arguments}
        return [self.tensors.names[i] for i in self.tensors.inputs if i not in {*read, *self.tensors.outputs}]

    @property
    def parts(self) -> frozenset[Callable[..., Any]]:
        """Functions that its text calls."""
        return frozenset().union(*(guess.term.parts for guess in self.found.values()))

    @property
    def remark(self) -> str:
        """What stands behind the contract."""
        if self.missing:
            return f"FILL IN, there: {', '.join(self.tensors.names[i] for i in self.missing)}"
        if self.unread:
            return f"FILL IN: {', '.join(self.unread)} is loaded, and what for was not found"
        return "a guess that fits the data: read it"

    def lines(self, function: str, extents: Mapping[int, str]) -> Iterator[str]:
        """The function.

        Args:
            function: its name.
            extents: number of an argument -> type and shape, as the manifest has them.
        """
        names, tensors = self.tensors.names, self.tensors
        yield f"def {function}(inputs, sizes):"
        yield f'    """{"FILL IN." if self.missing else "A guess."}'
        yield ""
        for i in dict.fromkeys((*tensors.inputs, *tensors.outputs)):
            role = " and ".join(
                word for word, of in (("read", tensors.inputs), ("returned", tensors.outputs)) if i in of
            )
            yield f"    {names[i]}: {extents.get(i, '')}, {role}"
        yield f"    Sizes: {', '.join(tensors.sizes[0])}."
        yield '    """'
        assigned: dict[str, str] = {}
        results = []
        for i, guess in self.found.items():
            for one in guess.term.reads:
                line = one.line(self.shapes[one.argument])
                if assigned.get(one.variable) != line:
                    assigned[one.variable] = line
                    yield f"    {line}"
            yield f"    result{i} = {bare(guess.term.text)}"
            results.append(f"{quoted(names[i])}: result{i}")
        if self.missing:
            yield from (f"    # {names[i]} = inputs[{quoted(names[i])}]" for i in tensors.inputs)
            told = ", ".join(names[i] for i in self.missing)
            yield f'    raise NotImplementedError("FILL IN: {told}")'
            results += [f"{quoted(names[i])}: ..." for i in self.missing]
        yield f"    return {{{', '.join(results)}}}"


class References:
    """A file of functions that is written beside a manifest.

    Attributes:
        file: what it is called.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self._functions: dict[str, str] = {}
        self._parts: set[Callable[..., Any]] = set()

    def function_of(self, name: str) -> str:
        """What the function of a kernel is called."""
        plain = re.sub(r"\W", "_", name)
        taken = keyword.iskeyword(plain) or not plain.isidentifier() or hasattr(reference_parts, plain)
        return (
            f"{plain}_reference"
            if taken and plain.isidentifier()
            else plain
            if not taken
            else f"kernel_{plain}"
        )

    def add(self, name: str, reference: DraftedReference, extents: Mapping[int, str]) -> str:
        """Take up the function of a kernel, and the contract that names it."""
        function = self.function_of(name)
        self._functions[function] = "\n".join(reference.lines(function, extents))
        self._parts |= reference.parts
        told = quoted(f"{self.file}:{function}")
        return f'contract = {{ kind = "reference", function = {told} }}  # {reference.remark}'

    @property
    def text(self) -> str:
        """The file; "" where there is no function."""
        if not self._functions:
            return ""
        known = [
            one for one in vars(reference_parts).values() if inspect.isfunction(one) and one in self._parts
        ]
        texts = [inspect.getsource(one).rstrip() for one in known]
        return "\n\n\n".join([_HEADER.rstrip(), *texts, *self._functions.values()]) + "\n"
