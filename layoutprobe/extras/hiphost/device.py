"""A device that is the emulator: memory, modules with their globals, launches, and a last fault.

What it refuses it refuses with the status that a HIP program expects, and with words for a person.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from layoutprobe import arch
from layoutprobe.checks.resources import measure
from layoutprobe.codeobj.bundle import BUNDLE, unbundle
from layoutprobe.codeobj.container import SHT_DYNSYM, read_container
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.identify import refuse_foreign
from layoutprobe.codeobj.kernarg import Extent, pack_kernarg
from layoutprobe.codeobj.model import DYNAMIC_STACK, CodeObject, Kernel
from layoutprobe.engine.base import Dispatch
from layoutprobe.engine.registry import make_engine
from layoutprobe.errors import CodeObjectError, ExecutionError, ProbeError, UsageError
from layoutprobe.extras.hiphost.conduct import Conduct
from layoutprobe.extras.hiphost.heap import DEVICE_MEMORY, PAGE, Allocation, Heap, NoRoomError
from layoutprobe.extras.hiphost.printing import HEADER, printed
from layoutprobe.extras.hiphost.protocol import MAX_KERNARG, MAX_VALUES, Error
from layoutprobe.machine.launch import GlobalMemory, check_launchable
from layoutprobe.machine.observer import Observer

_STT_OBJECT = 1
_PRINTS = "hidden_printf_buffer"
_ADDRESS_FAULTS = {"global-load", "global-store", "read-only", "undefined-address"}
_LIMITS = {"budget", "time"}


class HipError(Exception):
    """A call that fails.

    Attributes:
        status: what the program gets.
        words: what a person gets; "" where the status says it all.
    """

    def __init__(self, status: Error, words: str = "") -> None:
        super().__init__(status.hip_name)
        self.status = status
        self.words = words


class Module(Struct, frozen=True, eq=False):
    """A loaded code object.

    Attributes:
        code: what it is.
        image: where it lies.
        base: arena offset of its address 0.
    """

    code: CodeObject
    image: Allocation
    base: int


class Function(Struct, frozen=True):
    """A kernel of a module, by the module's number."""

    module: int
    kernel: Kernel


class Launch(Struct, frozen=True):
    """What a program launches.

    Attributes:
        id: of the function.
        grid: workgroups.
        block: work-items of a workgroup.
        dynamic_lds: bytes.
        explicit: the explicit arguments, packed.
        observers: watch it.
    """

    id: int
    grid: Extent
    block: Extent
    dynamic_lds: int
    explicit: bytes
    observers: tuple[Observer, ...] = ()


class EmulatedDevice(Struct, dict=True):
    """One device of one process.

    Attributes:
        target: processor whose code it executes.
        memory: bytes that may be allocated.
        run: executes a kernel; raises what the engine raises.
        broken: the status of everything from a fault on, until the device is reset.
        conduct: is told what the program does with memory.
        first_fault: what broke the device first; None where nothing did.
        freed_twice: how often memory was freed that was free.
        printed: what kernels have printed and nobody has fetched.
        stack: bytes of a lane's stack, where the compiler could not bound it.
    """

    target: str
    memory: int = DEVICE_MEMORY
    run: Callable[[Dispatch], object] = field(default_factory=lambda: make_engine().run)
    conduct: Conduct | None = None
    broken: Error = Error.SUCCESS
    first_fault: ProbeError | None = None
    freed_twice: int = 0
    printed: bytes = b""
    stack: int = DYNAMIC_STACK

    def __post_init__(self) -> None:
        self.heap = Heap(min(self.memory, DEVICE_MEMORY))
        self._modules: dict[int, Module] = {}
        self._functions: dict[int, Function] = {}
        self._ids = itertools.count(1)
        self._print_buffer: Allocation | None = None

    def close(self) -> None:
        """The program has ended: give the memory back."""
        if self.conduct:
            self.conduct.left(self.heap.allocations)
        self.heap.close()

    def reset(self) -> None:
        """Forget all memory, code and faults."""
        self.heap.clear()
        self._modules.clear()
        self._functions.clear()
        self._print_buffer = None
        self.broken = Error.SUCCESS

    def check(self) -> None:
        """Refuse everything after a fault, as a card does."""
        if self.broken:
            raise HipError(self.broken)

    # Memory

    def allocate(self, size: int, kind: str) -> int:
        """The address of new memory; for kinds see `heap.Allocation`."""
        try:
            return self.heap.allocate(size, kind).address
        except NoRoomError:
            raise HipError(
                Error.OUT_OF_MEMORY,
                f"the emulated device has no {size} bytes left: {self.heap.free_bytes} of {self.heap.limit}",
            ) from None

    def register(self, lead: int, size: int) -> int:
        """The address of memory for what the program registers, which begins so many bytes into a page."""
        if not 0 <= lead < PAGE:
            raise HipError(Error.INVALID_VALUE)
        try:
            return self.heap.allocate(size, "registered", lead).address
        except NoRoomError:
            raise HipError(Error.OUT_OF_MEMORY, f"no room to share {size} bytes of the program") from None

    def free(self, address: int) -> None:
        """Give memory back."""
        allocation = self.heap.at(address)
        if allocation is None or not allocation.is_the_programs or allocation.address != address:
            gone = self.heap.freed(address)
            self.freed_twice += gone is not None
            words = f"{gone.name} was freed already" if gone else f"no allocation starts at {address:#x}"
            raise HipError(Error.INVALID_VALUE, words)
        self.heap.free(address)

    def write(self, address: int, data: bytes | bytearray) -> None:
        """Set bytes, which are defined from now on."""
        span = self._span(address, len(data))
        self.heap.arena.data.bytes[span] = memoryview(data)
        self.heap.arena.shadow.bytes[span] = 0

    def read(self, address: int, size: int) -> bytes:
        """The bytes that are there, for the host."""
        span = self._span(address, size)
        allocation = self.heap.at(address)
        if self.conduct and allocation and self.heap.arena.tracked:
            self.conduct.copied(allocation, span.start - allocation.start, self.heap.arena.shadow.bytes[span])
        return self.heap.arena.data.bytes[span].tobytes()

    def touch(self, address: int, size: int) -> None:
        """The host copies to or from memory that it shares with the device: refuse what is beyond an allocation."""
        self._span(address, size)

    def copy(self, to: int, source: int, size: int) -> None:
        """Copy bytes, and which of them are undefined."""
        there, here = self._span(to, size), self._span(source, size)
        for store in (self.heap.arena.data, self.heap.arena.shadow):
            store.bytes[there] = store.bytes[here].copy()

    def fill(self, address: int, count: int, width: int, item: int) -> None:
        """Set `count` items of 1, 2 or 4 bytes."""
        if width not in (1, 2, 4) or address % width:
            raise HipError(Error.INVALID_VALUE, f"a fill of {width}-byte items at {address:#x}")
        span = self._span(address, count * width)
        self.heap.arena.data.views[width][span.start // width : span.stop // width] = item % (1 << 8 * width)
        self.heap.arena.shadow.bytes[span] = 0

    def _span(self, address: int, size: int) -> slice:
        span = self.heap.span(address, size)
        if span is not None:
            return span
        allocation, gone = self.heap.at(address), self.heap.freed(address)
        if allocation is None:
            where = f"in {gone.name}, which was freed" if gone else "in no allocation"
            raise HipError(Error.INVALID_VALUE, f"{size} bytes at {address:#x} are {where}")
        if self.conduct:
            self.conduct.beyond(allocation, address - allocation.address, size)
        words = f"{size} bytes at {address:#x} go beyond {allocation.name} ({allocation.size} bytes)"
        raise HipError(Error.INVALID_VALUE, words)

    # Code

    def load(self, image: bytes) -> int:
        """The number of a new module.

        Args:
            image: a code object, or an offload bundle with one for this target.
        """
        try:
            if image.startswith(BUNDLE):
                image = unbundle(image, self.target)
            code = load(image)
        except CodeObjectError as refused:
            raise HipError(Error.INVALID_IMAGE, str(refused)) from refused
        except UsageError as refused:
            raise HipError(Error.NO_BINARY_FOR_GPU, str(refused)) from refused
        if code.target != self.target:
            words = f"the code object is for {code.target}, and the emulated device is a {self.target}"
            raise HipError(Error.NO_BINARY_FOR_GPU, words)
        try:
            allocation, base = self.heap.place(code)
        except NoRoomError:
            raise HipError(Error.OUT_OF_MEMORY, "no room for the code object") from None
        number = next(self._ids)
        self._modules[number] = Module(code, allocation, base)
        return number

    def unload(self, number: int) -> None:
        """Forget a module and its functions."""
        module = self._module(number)
        self.heap.free(module.image.address)
        del self._modules[number]
        self._functions = {id: f for id, f in self._functions.items() if f.module != number}

    def function(self, number: int, name: str) -> tuple[int, Function]:
        """A kernel of a module, and the number that `launch` wants."""
        code = self._module(number).code
        if name not in code.kernels:
            present = ", ".join(list(code.kernels)[:8])
            raise HipError(Error.NOT_FOUND, f"no kernel {name!r} in the module; it has: {present}")
        function = Function(number, code.kernels[name])
        arguments = function.kernel.explicit_args
        end = max((a.offset + a.size for a in arguments), default=0)
        if end > MAX_KERNARG or 7 + 2 * len(arguments) > MAX_VALUES:
            raise HipError(Error.NOT_SUPPORTED, f"kernel {name!r} takes {end} bytes of arguments")
        id = next(self._ids)
        self._functions[id] = function
        return id, function

    def symbol(self, number: int, name: str) -> tuple[int, int]:
        """Address and size of a global variable."""
        module = self._module(number)
        refuse_foreign(module.code.image)
        for symbol in read_container(module.code.image).symbols(SHT_DYNSYM):
            if symbol.name == name and symbol.defined and symbol.kind == _STT_OBJECT:
                low = module.code.segments[0].address
                return module.image.address + symbol.value - low, symbol.size
        raise HipError(Error.NOT_FOUND, f"no variable {name!r} in the module")

    def _module(self, number: int) -> Module:
        if number not in self._modules:
            raise HipError(Error.INVALID_HANDLE, "no such module")
        return self._modules[number]

    def kernel(self, id: int) -> Kernel:
        """The kernel of a function's number."""
        if id not in self._functions:
            raise HipError(Error.INVALID_HANDLE, "no such kernel: its module was unloaded")
        return self._functions[id].kernel

    def code(self, id: int) -> CodeObject:
        """The code object of a function's number."""
        return self._modules[self._functions[id].module].code

    def described(self, function: Function) -> list[int]:
        """What the shim wants to know of a kernel before it packs arguments: bytes of explicit arguments,
        LDS, scratch of a lane, VGPRs, work-items at most, dynamic LDS at most; offset and size of each argument.
        """
        kernel = function.kernel
        arguments = kernel.explicit_args
        lds = kernel.descriptor.group_segment_size
        numbers = [
            max((a.offset + a.size for a in arguments), default=0),
            lds,
            kernel.descriptor.private_segment_size,
            kernel.vgprs,
            kernel.max_workgroup_size,
            max(arch.find(self.target).lds_bytes - lds, 0),
        ]
        return numbers + [value for a in arguments for value in (a.offset, a.size)]

    # Launches

    def launch(
        self, it: Launch, say: Callable[[ProbeError], None], note: Callable[[str], None] = lambda _: None
    ) -> None:
        """Run a kernel to its end. As on a card, the launch succeeds, and a fault shows afterwards.

        Args:
            it: what, and how.
            say: is told of a fault.
            note: is told what is lost of what the kernel prints.
        """
        kernel = self.kernel(it.id)
        if kernel.uses_dynamic_stack and self.stack != kernel.stack:
            kernel = replace(kernel, stack=self.stack)
        module = self._modules[self._functions[it.id].module]
        lds_size = kernel.descriptor.group_segment_size + it.dynamic_lds
        try:
            check_launchable(kernel, it.block, lds_size, arch.find(self.target).lds_bytes)
            memory = self._prepare(module, kernel, it)
        except UsageError as refused:
            raise HipError(Error.INVALID_CONFIGURATION, str(refused)) from refused
        try:
            self.run(Dispatch(module.code, kernel, memory, it.grid, it.block, lds_size, it.observers))
        except UsageError as refused:
            raise HipError(Error.INVALID_CONFIGURATION, str(refused)) from refused
        except ProbeError as fault:
            self.broken = _status(fault)
            self.first_fault = self.first_fault or fault
            say(fault)
        finally:
            self._take_prints(module.code, note)

    def _prepare(self, module: Module, kernel: Kernel, it: Launch) -> GlobalMemory:
        end = max((a.offset + a.size for a in kernel.explicit_args), default=0)
        if len(it.explicit) < end:
            raise UsageError(
                f"kernel {kernel.name} takes {end} bytes of arguments", observed=f"{len(it.explicit)} bytes"
            )
        values = [it.explicit[a.offset : a.offset + a.size] for a in kernel.explicit_args]
        packed = pack_kernarg(kernel, values, it.grid, it.block, it.dynamic_lds, self._served(kernel))
        region = self.heap.arguments(len(packed))
        self.heap.arena.fill(region, packed)
        return GlobalMemory(self.heap.arena, (), region, module.base)

    def _served(self, kernel: Kernel) -> dict[str, int]:
        """Hidden arguments of a kernel that this device serves: an empty buffer for one that prints."""
        if all(argument.kind != _PRINTS for argument in kernel.args):
            return {}
        try:
            buffer = self._print_buffer = self._print_buffer or self.heap.print_buffer()
        except NoRoomError:
            raise HipError(Error.OUT_OF_MEMORY, "no room for the printf buffer") from None
        room = HEADER.pack(0, buffer.size - HEADER.size)
        self.heap.arena.data.bytes[buffer.start : buffer.start + HEADER.size] = np.frombuffer(room, np.uint8)
        return {_PRINTS: buffer.address}

    def _take_prints(self, code: CodeObject, say: Callable[[str], None]) -> None:
        """Make text of what a kernel has printed, and empty the buffer."""
        buffer = self._print_buffer
        if buffer is None:
            return
        data, shadow = (store.bytes for store in (self.heap.arena.data, self.heap.arena.shadow))
        start = buffer.start + HEADER.size
        used, size = HEADER.unpack(data[buffer.start : start].tobytes())
        end = start + min(used, buffer.size - HEADER.size)
        self.printed += printed(data[start:end].tobytes(), code.formats)
        if used > size:
            say(f"the printf buffer of {size} bytes was full: what a kernel printed beyond it is lost")
        data[buffer.start : end] = 0
        shadow[buffer.start : end] = 0

    def blocks_per_unit(self, id: int, items: int, dynamic_lds: int) -> int:
        """Workgroups of a kernel that fit on a compute unit (a WGP where the kernel asks for one)."""
        found = measure(self.code(id), self.kernel(id), items, dynamic_lds).occupancy
        if found is None:
            words = f"{items} work-items and {dynamic_lds} bytes of dynamic LDS are more than a workgroup may have"
            raise HipError(Error.INVALID_VALUE, words)
        return found.workgroups or 0

    def best_block(self, id: int, dynamic_lds: int, limit: int) -> tuple[int, int]:
        """Workgroups of the size with which most work-items fit on a compute unit, and that size: the largest such.

        Args:
            id: of the function.
            dynamic_lds: bytes, whatever the size.
            limit: work-items at most; 0: as many as the kernel was compiled for.
        """
        kernel = self.kernel(id)
        most, wave = min(kernel.max_workgroup_size, limit or kernel.max_workgroup_size), kernel.wavefront_size
        sizes = {*range(wave, most + 1, wave), most}
        blocks = {items: self.blocks_per_unit(id, items, dynamic_lds) for items in sizes}
        best = max(sizes, key=lambda items: (blocks[items] * items, items))
        return blocks[best], best


def _status(fault: ProbeError) -> Error:
    kind = fault.kind if isinstance(fault, ExecutionError) else ""
    if kind in _ADDRESS_FAULTS:
        return Error.ILLEGAL_ADDRESS
    return Error.LAUNCH_TIME_OUT if kind in _LIMITS else Error.LAUNCH_FAILURE
