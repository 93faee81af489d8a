"""A manifest to fill in, written from what a code object's metadata says.

Metadata knows how many arguments there are, their sizes and mostly their names. It knows no shapes,
no dtypes and no grid: those are guessed from customary names and marked FILL IN.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from layoutprobe.codeobj.members import taken_apart
from layoutprobe.codeobj.model import Argument, CodeObject, Kernel
from layoutprobe.codeobj.parameters import Signature, signature_of
from layoutprobe.drafting.bits import float_behind, types_read
from layoutprobe.drafting.building import NOT_FOR, Built, build_for_draft
from layoutprobe.drafting.chained import chained, handed_on
from layoutprobe.drafting.host_text import read_text
from layoutprobe.drafting.kernel_table import SeenDraft
from layoutprobe.drafting.launch_sites import LaunchSite, sites_in
from layoutprobe.drafting.no_launch import unseen
from layoutprobe.drafting.outcome import Trial
from layoutprobe.drafting.references import References
from layoutprobe.drafting.trial import tried
from layoutprobe.drafting.words import name_of, quoted, unique
from layoutprobe.errors import UsageError
from layoutprobe.manifest.files import ASSEMBLY, SOURCES, is_code_object
from layoutprobe.manifest.model import KernelCase
from layoutprobe.manifest.read import read_manifest

HEADER = """\
# What `layoutprobe check` builds, launches and expects; docs/manifest.md describes every key.
# Written by `layoutprobe init` from metadata and debug information, from launches in the host code of the same file,
# and from what the kernel did when it was launched so on made-up data. What is marked FILL IN is a guess.
"""
_MATRICES = {"a": ("A", ("M", "K")), "b": ("B", ("K", "N")), "c": ("C", ("M", "N")), "d": ("D", ("M", "N"))}
_POINTER_NAME = re.compile(
    r"(?:p_|ptr_|d_)?([abcd])(?:_?(?:ptr|pointer|mat|matrix|grid))?(_?t(?:rans(?:posed)?)?)?", re.IGNORECASE
)
"""The matrix, and whether it says that it lies transposed."""
_SIZES = ("M", "N", "K")
_FLOATS = {2: "f16", 4: "f32", 8: "f64"}
_MAX_KERNELS = 64
_LONGEST = 400
_TILE = {"M": 128, "N": 128, "K": 16}
_TILE_OF_A_WAVE = {"M": 16, "N": 16, "K": 16}


def draft(
    source: Path,
    *,
    folder: Path,
    symbols: Sequence[str] = (),
    include: Sequence[Path] = (),
    target: str | None = None,
    references: References | None = None,
) -> tuple[str, tuple[Kernel, ...]]:
    """The text of a manifest, and the kernels in it.

    Args:
        source: HIP source, assembly or code object.
        folder: directory where the manifest will lie; paths in it are relative to that.
        symbols: kernels to put in; empty for all.
        include: directories of headers.
        target: what to compile a source for; the default target where None.
        references: takes up functions for kernels that are no product; None for none.

    Raises:
        UsageError: no such file or kernel.
        ToolchainError: it does not compile.
        CodeObjectError: it is no code object.
    """
    built = build_for_draft(source, include, target)
    code = built.code
    kernels = tuple(code.kernel(name) for name in symbols) or tuple(code.kernels.values())
    if not kernels:
        raise UsageError(
            f"{source} has no kernel",
            expected=f"1 to {_MAX_KERNELS}",
            hint="a kernel is a __global__ function; a template is one where the source launches it",
        )
    if len(kernels) > _MAX_KERNELS:
        raise UsageError(
            f"{source} has {len(kernels)} kernels",
            expected=f"1 to {_MAX_KERNELS}",
            hint="choose a kernel by its symbol",
        )
    signatures = [signature_of(code, kernel) for kernel in kernels]
    names = unique([name_of(*both) for both in zip(kernels, signatures, strict=True)])
    shared = list(_origin(source, folder, include, built))
    several = len(kernels) > 1 or len(code.kernels) > 1
    host = "" if is_code_object(source) or source.suffix.lower() in ASSEMBLY else read_text(source)
    drafts = [
        _Draft.of(code, kernel, one, sites_in(host, one.name if one else kernel.name))
        for kernel, one in zip(kernels, signatures, strict=True)
    ]
    for one, name in zip(drafts, names, strict=True):
        one.name = name
    for one in drafts:
        one.follow([other for other in drafts if other is not one])
    tables = [
        "\n".join(one.lines(shared, several, references))
        for one in sorted(drafts, key=lambda one: one.is_behind)
    ]
    return "\n".join((HEADER, *tables)) + "\n", kernels


def _origin(source: Path, folder: Path, include: Sequence[Path], built: Built) -> Iterator[str]:
    def relative(path: Path) -> str:
        return quoted(Path(os.path.relpath(str(path), str(folder))).as_posix())

    if is_code_object(source):
        yield f"code_object = {relative(source)}"
        return
    yield f"source = {relative(source)}"
    if include:
        yield f"include = [{', '.join(relative(path) for path in include)}]"
    if built.flags:
        yield f"flags = [{', '.join(map(quoted, built.flags))}]"
    another = f"  # it {NOT_FOR} {built.refused}" if built.refused else ""
    yield f"arch = [{quoted(built.target)}]{another}"


class _Draft:
    """The [[kernel]] table: as the host code launches it and it then does, or as names suggest."""

    def __init__(
        self, code: CodeObject, kernel: Kernel, signature: Signature | None, near: Sequence[LaunchSite]
    ) -> None:
        self.code, self.kernel, self.signature, self.near = code, kernel, signature, near
        self.name = ""
        self.site: LaunchSite | None = None
        self.trial: Trial | None = None

    @classmethod
    def of(
        cls, code: CodeObject, kernel: Kernel, signature: Signature | None, sites: Sequence[LaunchSite]
    ) -> _Draft:
        """With the first launch that can be made."""
        called = {signature.name.partition("<")[0] if signature else "", kernel.name, ""}
        result = cls(code, kernel, signature, [site for site in sites if site.kernel in called])
        for site in result.near:
            result.trial = tried(code, kernel, signature, site) if signature else None
            if result.trial is not None:
                result.site = site
                break
        else:
            result.trial = unseen(code, kernel, signature) if signature and not result.near else None
            if result.trial and not result.trial.product and _is_called_product(code, kernel, signature):
                result.trial = None  # its strides were guessed wrong: what names say is nearer
        return result

    @property
    def is_behind(self) -> bool:
        """Whether another kernel is launched before it."""
        return self.trial is not None and self.trial.made is not None

    def follow(self, others: Sequence[_Draft]) -> None:
        """Be launched behind the kernel whose product this one reads, where both make one together."""
        if (
            self.trial is None
            or self.trial.product is not None
            or self.site is None
            or self.signature is None
        ):
            return
        for one in others:
            if one.trial is None or one.trial.product is None or one.site is None or one.trial.members:
                continue
            at = handed_on(one.site, one.trial.product.d.argument, self.site)
            if at is None:
                continue
            made = replace(SeenDraft(one.trial.launches, one.trial).made(at), kernel=one.name)
            found = chained(self.code, self.kernel, self.signature, self.site, one.trial, made)
            if found is not None:
                self.trial = found
                return

    def lines(self, shared: Sequence[str], several: bool, references: References | None) -> Iterator[str]:
        """Its text; `shared` says what is built."""
        code, kernel, signature = self.code, self.kernel, self.signature
        if self.trial is not None:
            origin = [*shared, f"symbol = {quoted(kernel.name)}"]
            yield from SeenDraft(self.trial.launches, self.trial, references).lines(self.name, origin)
            return
        members: Mapping[int, int] = {}
        if signature is not None:
            code, kernel, signature, members = taken_apart(code, kernel, signature)
        read = types_read(code, kernel)
        site = next(iter(self.near), None)
        yield from _kernel(kernel, self.name, shared, several, signature, site, members, read)


def _kernel(
    kernel: Kernel,
    name: str,
    shared: Sequence[str],
    several: bool,
    signature: Signature | None,
    site: LaunchSite | None,
    members: Mapping[int, int],
    read: Mapping[str, str],
) -> Iterator[str]:
    arguments = [_guess(a, i, kernel, signature) for i, a in enumerate(kernel.explicit_args)]
    for guess in arguments:
        guess.take_for(read.get(guess.matrix, ""))
    matrices = {guess.matrix for guess in arguments}
    factors = _factors(arguments)
    gemm = _are_product(matrices)
    yield "[[kernel]]"
    yield f"name = {quoted(name)}"
    yield from shared
    if several:
        yield f"symbol = {quoted(kernel.name)}"
    block = min(kernel.max_workgroup_size, 1024)
    tile = _TILE_OF_A_WAVE if block <= kernel.wavefront_size else _TILE
    if site is not None and all(one.isdigit() for one in site.block):
        yield f"block = [{', '.join(site.block)}]"
    else:
        yield f"block = [{block}]  # FILL IN: the kernel was compiled for at most {kernel.max_workgroup_size}"
    if site is not None:
        yield f"grid = [{', '.join(map(quoted, site.grid))}]  # FILL IN: its names are those of the host code"
    elif gemm:
        across, down = (f"({name} + {tile[name] - 1}) / {tile[name]}" for name in "NM")
        yield f'grid = ["{across}", "{down}"]  # FILL IN: workgroups in x, y, z'
    else:
        yield "grid = [1]  # FILL IN: workgroups in x, y, z, as expressions of the sizes"
    yield "# FILL IN: what a workgroup makes, and how deep a k step is. The sizes follow from it: whole, ragged, one"
    yield "# more and one less, one k step and several. `multiple = { K = 8 }` where the kernel relies on that."
    yield f"tile = {{ {', '.join(f'{name} = {extent}' for name, extent in tile.items())} }}"
    if gemm:
        chosen = "".join(f", {name} = {value}" for name, value in factors.items())
        yield f'contract = {{ kind = "gemm"{chosen} }}  # D = alpha * A @ B + beta * C'
    else:
        yield 'contract = { kind = "none" }  # FILL IN: "gemm", or "reference" with a Python function'
    for i, guess in enumerate(arguments):
        yield ""
        yield from guess.lines(members.get(i))


def _is_called_product(code: CodeObject, kernel: Kernel, signature: Signature | None) -> bool:
    """Whether arguments have the names of a product's matrices."""
    if signature is not None:
        code, kernel, signature, _ = taken_apart(code, kernel, signature)
    matrices = {_guess(a, i, kernel, signature).matrix for i, a in enumerate(kernel.explicit_args)}
    return _are_product(matrices)


def _are_product(matrices: set[str]) -> bool:
    return {"A", "B"} <= matrices and bool({"C", "D"} & matrices)


def _factors(arguments: Sequence[_Guess]) -> dict[str, float]:
    """Values for alpha and beta where the kernel takes them: with 1 and 0 one that ignores both is green.

    Beta needs a C to multiply: one that is only read, or the output itself, which is then marked so.
    """
    found = {guess.factor: guess for guess in arguments if guess.factor}
    result = {"alpha": 2.0} if "alpha" in found else {}
    addends = [guess for guess in arguments if guess.matrix == "C"]
    if "beta" in found and len(addends) == 1 and addends[0].access in ("", "in"):
        separate = any(guess.matrix == "D" for guess in arguments)
        addends[0].access = addends[0].access or ("in" if separate else "inout")
        result["beta"] = 0.5
    return result


class _Guess:
    """One argument: what metadata says, and what its name suggests."""

    def __init__(
        self, argument: Argument, name: str, dtype: str, *, null: bool, pointers: bool = False
    ) -> None:
        self.pointers = pointers
        self.argument = argument
        self.dtype = dtype
        self.name = name
        self.null = null
        found = _POINTER_NAME.fullmatch(name) if self.is_pointer else None
        nothing: tuple[str, tuple[str, ...]] = ("", ())
        self.matrix, self.shape = _MATRICES[found[1].lower()] if found else nothing
        self.turned = bool(found and found[2])
        self.taken_for = ""
        self.access = {"read_only": "in", "write_only": "out"}.get(argument.access, "")

    @property
    def is_pointer(self) -> bool:
        return self.argument.kind == "global_buffer"

    def take_for(self, dtype: str) -> None:
        """Have a buffer of integers that are but the bits of floats be one of these floats."""
        self.taken_for = float_behind(self.dtype, dtype)

    @property
    def size(self) -> str:
        """ "M", "N" or "K", where it is called so; "" elsewhere."""
        last = self.name.rpartition("_")[2].upper()
        return last if last in _SIZES and self.argument.kind == "by_value" else ""

    @property
    def factor(self) -> str:
        """ "alpha" or "beta", where it looks like one."""
        lower = self.name.lower()
        scalar = self.argument.kind == "by_value" and self.argument.size in _FLOATS and not self.null
        return lower if scalar and lower in ("alpha", "beta") else ""

    def lines(self, at: int | None) -> Iterator[str]:
        """The [[kernel.argument]] table, of a member of a structure with its offset there."""
        kind = re.sub(r"\W+", " ", self.argument.kind)[:40]
        yield f"[[kernel.argument]]  # offset {self.argument.offset}, {self.argument.size} bytes, {kind}"
        yield f"name = {quoted(self.name)}"
        if at is not None:
            yield f"at = {at}  # in a structure"
        if self.null:
            yield 'role = "null"  # a guess: Triton passes two null pointers last'
        elif self.is_pointer:
            yield from self._buffer()
        elif self.argument.size in (1, 2, 4, 8):
            yield from self._scalar()
        else:
            yield 'role = "bytes"'
            yield f'hex = "{"00" * self.argument.size}"  # FILL IN: a struct passed by value'

    def _buffer(self) -> Iterator[str]:
        role = self.access or ("out" if self.matrix in ("C", "D") else "in")
        sure = self.argument.access in ("read_only", "write_only")
        yield f'role = "{role}"' + ("" if sure else "  # FILL IN: in, out or inout")
        dtype = self.taken_for or self.dtype or ("f32" if self.matrix in ("C", "D") else "f16")
        why = f"  # {self.dtype} that the matrix instructions take for it" if self.taken_for else ""
        yield f'dtype = "{dtype}"' + (why if self.dtype else "  # FILL IN")
        shape = ", ".join(quoted(extent) for extent in self.shape) or '"M * N"'
        if self.pointers:
            yield f"shape = [1, {shape}]  # FILL IN: how many pointers there are, and what each leads to"
            yield "pointers = true"
        else:
            yield f"shape = [{shape}]" + ("" if self.shape else "  # FILL IN")
        if self.matrix:
            yield f'matrix = "{self.matrix}"'
        if self.turned:
            yield 'order = "col"  # FILL IN: it is called transposed'

    def _scalar(self) -> Iterator[str]:
        size = self.argument.size
        yield 'role = "scalar"'
        if self.factor:
            yield f'dtype = "{_FLOATS[size]}"'
            yield f'value = "{self.factor}"'
            return
        dtype = self.dtype or f"i{8 * size}"
        yield f'dtype = "{dtype}"' + ("" if self.dtype or self.size else "  # FILL IN")
        if self.size:
            yield f'value = "{self.size}"'
        else:
            yield "value = 1  # FILL IN: a number, or an expression of the sizes"


def _guess(argument: Argument, index: int, kernel: Kernel, signature: Signature | None) -> _Guess:
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", argument.name)
    taken = [a.name for a in kernel.explicit_args[:index]]
    name = argument.name if plain and argument.name not in taken else f"argument{index}"
    last = kernel.explicit_args[-2:]
    nameless = not any(a.name for a in kernel.explicit_args) and len(kernel.explicit_args) > 2
    null = nameless and argument in last and all(a.kind == "global_buffer" for a in last)
    declared = (
        signature.parameters if signature and len(signature.parameters) == len(kernel.explicit_args) else ()
    )
    pointers = bool(declared) and declared[index].pointers
    return _Guess(argument, name, declared[index].dtype if declared else "", null=null, pointers=pointers)


def is_source(path: Path) -> bool:
    """Whether a file is a kernel itself, source or code object, and no manifest of one."""
    return path.suffix.lower() in (*SOURCES, *ASSEMBLY) or (path.is_file() and is_code_object(path))


def guessed(source: Path, kernel: str | None, target: str | None) -> tuple[KernelCase, tuple[str, ...]]:
    """A kernel without a manifest: the draft of one, taken for true; and what in it is a guess.

    Args:
        source: HIP source, assembly or code object.
        kernel: its symbol; may be left out where there is one.
        target: what to compile a source for.

    Raises:
        UsageError: there is no such kernel, or several.
        ToolchainError, CodeObjectError: as of `draft`.
    """
    text, kernels = draft(source, folder=source.parent, symbols=[kernel] if kernel else [], target=target)
    if len(kernels) > 1:
        known = ", ".join(one.name for one in kernels)[:_LONGEST]
        raise UsageError("the file has several kernels", where={"file": source}, expected=f"one of {known}")
    (case,) = read_manifest(source.parent / "guessed.toml", data=text.encode()).kernels
    return replace(case, name=f"{case.name} (launch guessed)"), tuple(_guesses(text))


def _guesses(text: str) -> Iterator[str]:
    """The lines of a draft that are guesses, with the argument that they are of."""
    argument = ""
    for line in text.splitlines():
        said, _, remark = line.partition("#")
        if said.startswith("name = ") and argument:
            argument = said.removeprefix("name = ").strip().strip('"') + ": "
        elif said.startswith("[[kernel.argument]]"):
            argument = ": "
        elif said.strip() and ("FILL IN" in remark or remark.strip().startswith("a guess")):
            yield argument + said.strip()
