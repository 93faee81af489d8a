"""One host program at the device: reads its requests, answers each, and keeps its device to itself."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from layoutprobe import arch
from layoutprobe.arch.processors import hip_version
from layoutprobe.backends.hip import EMULATED
from layoutprobe.codeobj.inlining import place_of
from layoutprobe.codeobj.model import MAX_STACK
from layoutprobe.engine.base import Dispatch
from layoutprobe.errors import ProbeError
from layoutprobe.extras.hiphost import protocol
from layoutprobe.extras.hiphost.conduct import Conduct
from layoutprobe.extras.hiphost.device import EmulatedDevice, HipError, Launch
from layoutprobe.extras.hiphost.heap import BEGIN, DEVICE_MEMORY, SHARED_BEGIN, SHARED_OFFSET, SHARED_SIZE
from layoutprobe.extras.hiphost.order import BytesUsed, Ordered, StreamOrder, Used, Work
from layoutprobe.extras.hiphost.pretence import Pretence
from layoutprobe.extras.hiphost.protocol import Error, Op, Request, Value
from layoutprobe.extras.hiphost.runtime_compiler import compile_program
from layoutprobe.place import Place
from layoutprobe.text import one_line

NAME = f"{EMULATED} (HIP shim)"
"""What the device is called: whoever measures on it must know that it is no silicon."""

RUNTIME = 7_02_00000
"""HIP 7.2: major * 10**7 + minor * 10**5 + patch."""
_KINDS = {"host": 1, "registered": 1, "device": 2, "image": 2, "printed": 2, "managed": 3}
"""hipMemoryType of HIP 6 and 7."""
_LAUNCHED = {Op.SYNC, Op.FREE, Op.UNLOAD, Op.READ, Op.WRITE, Op.COPY, Op.FILL, Op.TOUCH}
"""Operations that wait for the kernels before them."""
_ALWAYS = {Op.VERSION, Op.COUNT, Op.DESCRIBE, Op.RESET, Op.PRINTED, Op.COMPILE, Op.COMPILED}
"""Operations that a fault does not stop."""
_WITHOUT_A_DEVICE = {Op.VERSION, Op.COUNT, Op.COMPILE, Op.COMPILED}
"""Operations that need none."""
_COUNTED = {Op.LOAD, Op.LAUNCH, Op.LACKS}
"""Operations whose refusal is counted: a program that goes on without them shows nothing."""
_ARITY = {
    **dict.fromkeys((Op.DESCRIBE, Op.MALLOC, Op.MALLOC_HOST, Op.MALLOC_MANAGED, Op.FREE, Op.RANGE), 1),
    **dict.fromkeys((Op.WRITE, Op.UNLOAD, Op.FUNCTION, Op.SYMBOL, Op.PRINTED, Op.COMPILED), 1),
    **{
        Op.READ: 2,
        Op.TOUCH: 2,
        Op.REGISTER: 2,
        Op.ORDER: 3,
        Op.COMPILE: 3,
        Op.COPY: 3,
        Op.FILL: 4,
        Op.OCCUPANCY: 3,
        Op.BEST_BLOCK: 3,
        Op.STACK: 1,
        Op.LAUNCH: 8,
    },
}
"""How many numbers an operation takes, where it takes any."""

Answer = tuple[Sequence[int], bytes]


class Session(Struct, dict=True):
    """A connection.

    Attributes:
        connection: to the program.
        target: what the device executes.
        pretence: what the device pretends.
        say: prints a message of the emulator for a person.
        run: executes a kernel, see `EmulatedDevice.run`.
        conduct: is told what the program does with memory.
        launches, faults: kernels that ran, and that failed, so far.
        refused: launches, code and calls of functions that are missing, which were refused so far.
        stop: set when nobody waits any more.
    """

    connection: socket.socket
    target: str
    pretence: Pretence
    say: Callable[[str], None]
    run: Callable[[Dispatch], object]
    conduct: Conduct | None = None
    launches: int = 0
    faults: int = 0
    refused: int = 0
    stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        memory = DEVICE_MEMORY if self.pretence.memory is None else self.pretence.memory
        self.device = EmulatedDevice(self.target, memory, self.run, self.conduct)
        self.order = StreamOrder()
        self._calls: Counter[Op] = Counter()
        self._made: dict[int, bytes] = {}
        self._hanging = False

    def serve(self) -> None:
        """Answer until the program ends, however it ends."""
        try:
            hello = protocol.HELLO.pack(protocol.VERSION, SHARED_BEGIN, SHARED_OFFSET, SHARED_SIZE)
            socket.send_fds(self.connection, [hello], [self.device.heap.file])
            while (request := protocol.receive(self.connection)) is not None:
                status, (values, data) = self._answer(request)
                protocol.answer(self.connection, status, values, data)
        except OSError:
            return  # the program has ended in the middle of a call
        except protocol.ProtocolError as wrong:
            self.say(f"the program's HIP library speaks another language: {wrong}")
        finally:
            self.connection.close()
            self.device.close()

    def _answer(self, request: Request) -> tuple[int, Answer]:
        done = False
        try:
            self._pretend(request.op)
            answer = self._do(request)
            done = True
            return Error.SUCCESS, answer
        except HipError as refused:
            if refused.words:
                self.say(f"{request.op.name.lower()}: {refused.words}")
            return refused.status, ((), b"")
        except ProbeError as error:
            self.say(str(error))
        except Exception as bug:  # the program gets an answer whatever happens here
            self.say(f"a bug in layoutprobe, not in your program: {type(bug).__name__}: {bug}")
        finally:
            self.refused += not done and request.op in _COUNTED
        return Error.UNKNOWN, ((), b"")

    def _pretend(self, op: Op) -> None:
        self._calls[op] += 1
        if self.pretence.devices == 0 and op not in _WITHOUT_A_DEVICE:
            raise HipError(Error.NO_DEVICE)
        status, first = self.pretence.fail.get(op, (Error.SUCCESS, 0))
        if status and self._calls[op] >= first:
            raise HipError(status)
        if self.pretence.lost is not None and self._calls.total() >= self.pretence.lost:
            raise HipError(Error.LAUNCH_FAILURE)
        if self._hanging and op is Op.QUERY:
            raise HipError(Error.NOT_READY)
        if self._hanging and op in _LAUNCHED:
            self.stop.wait()
            raise HipError(Error.DEINITIALIZED)

    def _do(self, request: Request) -> Answer:
        if len(request.args) != _ARITY.get(request.op, len(request.args)):
            raise HipError(Error.INVALID_VALUE)
        if request.op not in _ALWAYS:
            self.device.check()
        done = _HANDLERS[request.op](self, request)
        return done if isinstance(done, tuple) else (done or (), b"")

    # What there is

    def _nothing(self, _: Request) -> None:
        """Nothing waits: every kernel has ended when its launch returns."""

    def _version(self, _: Request) -> list[int]:
        version = RUNTIME if self.pretence.version is None else self.pretence.version
        return [version, version]

    def _count(self, _: Request) -> list[int]:
        return [self.pretence.devices]

    def _describe(self, request: Request) -> Answer:
        if request.args[0] >= self.pretence.devices:
            raise HipError(Error.INVALID_DEVICE)
        target = self.pretence.target or self.target
        known = arch.find(self.target)
        major, minor = hip_version(target)
        numbers = {
            Value.ONE: 1,
            Value.MEMORY: self.device.heap.limit,
            Value.LDS: known.lds_bytes,
            Value.UNIT_LDS: 2 * known.lds_bytes,
            Value.REGISTERS: 1 << 16,
            Value.WARP: known.wave_size,
            Value.THREADS: 1024,
            Value.UNIT_THREADS: 2048,
            Value.GRID: (1 << 31) - 1,
            Value.GRID_YZ: (1 << 16) - 1,
            Value.CLOCK: 1000,  # kHz, nominal, as is the number of units
            Value.MAJOR: major,
            Value.MINOR: minor,
            Value.UNITS: 20,
            Value.ALIGNMENT: 256,
            Value.PITCH: (1 << 31) - 1,
        }
        name = self.pretence.name or NAME
        texts = b"".join(text.encode()[:255].ljust(256, b"\0") for text in (name, target))
        return [numbers.get(value, 0) for value in Value], texts

    # Memory

    def _memory(self, _: Request) -> list[int]:
        return [self.device.heap.free_bytes, self.device.heap.limit]

    def _malloc(self, request: Request) -> list[int]:
        kinds = {Op.MALLOC: "device", Op.MALLOC_HOST: "host", Op.MALLOC_MANAGED: "managed"}
        return [self.device.allocate(request.args[0], kinds[request.op])]

    def _register(self, request: Request) -> list[int]:
        lead, size = request.args
        return [self.device.register(lead, size)]

    def _free(self, request: Request) -> None:
        self.order.told(Ordered.WAIT_ALL, 0, 0)
        if (allocation := self.device.heap.at(request.args[0])) is not None:
            self.order.forget(allocation)
        self.device.free(request.args[0])

    def _range(self, request: Request) -> list[int]:
        found = self.device.heap.at(request.args[0])
        if found is None:
            raise HipError(Error.INVALID_VALUE)
        return [found.address, found.size, _KINDS[found.kind]]

    def _write(self, request: Request) -> None:
        self.device.write(request.args[0], request.data)
        self._used(request, "a copy", (request.args[0], len(request.data), True))

    def _read(self, request: Request) -> Answer:
        data = self.device.read(*request.args)
        address, size = request.args
        self._used(request, "a copy", (address, size, False))
        return (), data

    def _touch(self, request: Request) -> None:
        self.device.touch(*request.args)

    def _copy(self, request: Request) -> None:
        self.device.copy(*request.args)
        to, source, size = request.args
        self._used(request, "a copy", (to, size, True), (source, size, False))

    def _fill(self, request: Request) -> None:
        self.device.fill(*request.args)
        address, count, width, _ = request.args
        self._used(request, "a fill", (address, count * width, True))

    def _used(self, request: Request, name: str, *spans: tuple[int, int, bool]) -> None:
        """A copy or fill on a stream uses memory: address, bytes, whether it stores."""
        if not self.order.watched or self.conduct is None:
            return
        work = self.order.work(name, request.stream, waits=request.waits)
        for address, size, store in spans:
            low = address - BEGIN
            self._meet(work, address, Used(store, low, low + size))

    def _meet(self, work: Work, address: int, used: Used) -> None:
        allocation = self.device.heap.at(address)
        other = self.order.use(allocation, work, used) if allocation else None
        if allocation and other and self.conduct:
            self.conduct.unordered(allocation, (work, used), other)

    def _order(self, request: Request) -> None:
        what, one, other = request.args
        if what >= len(Ordered):
            raise HipError(Error.INVALID_VALUE)
        self.order.told(Ordered(what), one, other)

    def _lacks(self, request: Request) -> None:
        name = one_line(request.data[:80].decode("utf-8", "replace"))
        raise HipError(
            Error.NOT_SUPPORTED, f"the emulated HIP runtime has no {name} (docs/hip.md lists what it has)"
        )

    # Code

    def _load(self, request: Request) -> list[int]:
        return [self.device.load(bytes(request.data))]

    def _compile(self, request: Request) -> list[int]:
        made = compile_program(self.target, request.args, request.data)
        log, code, names = made.parts()
        ticket = max(self._made, default=0) + 1
        self._made[ticket] = log + code + names
        return [made.result, ticket, len(self._made[ticket]), len(log), len(code)]

    def _compiled(self, request: Request) -> Answer:
        if (data := self._made.pop(request.args[0], None)) is None:
            raise HipError(Error.INVALID_VALUE)
        return (), data

    def _unload(self, request: Request) -> None:
        self.device.unload(request.args[0])

    def _function(self, request: Request) -> list[int]:
        id, function = self.device.function(request.args[0], request.data.decode("utf-8", "replace"))
        return [id, *self.device.described(function)]

    def _symbol(self, request: Request) -> list[int]:
        return list(self.device.symbol(request.args[0], request.data.decode("utf-8", "replace")))

    def _launch(self, request: Request) -> list[int]:
        id, gx, gy, gz, bx, by, bz, lds = request.args
        watched = BytesUsed() if self.order.watched and self.conduct else None
        if self.pretence.hang:
            self._hanging = True
        else:
            observers = (watched,) if watched else ()
            launched = Launch(id, (gx, gy, gz), (bx, by, bz), lds, bytes(request.data), observers)
            self.device.launch(launched, self._fault, self.say)
        self.launches += 1
        if watched:
            self._meets(request, id, watched)
        return [len(self.device.printed)] if self.device.printed else []

    def _printed(self, request: Request) -> Answer:
        (most,) = request.args  # another thread may have printed meanwhile
        text, self.device.printed = self.device.printed[:most], self.device.printed[most:]
        return (), text

    def _meets(self, request: Request, id: int, watched: BytesUsed) -> None:
        code, kernel = self.device.code(id), self.device.kernel(id)
        work = self.order.work(f"kernel {kernel.name}", request.stream, waits=False)
        for region, used in watched.used():
            inst = used.inst
            place = place_of(code, kernel, inst.pc, inst.name) if inst else Place(kernel=kernel.name)
            self._meet(work, BEGIN + region.start, replace(used, place=place))

    def _fault(self, fault: ProbeError) -> None:
        self.faults += 1
        self.say(str(fault))

    def _occupancy(self, request: Request) -> list[int]:
        return [self.device.blocks_per_unit(*request.args)]

    def _best_block(self, request: Request) -> list[int]:
        return list(self.device.best_block(*request.args))

    def _stack(self, request: Request) -> None:
        (wanted,) = request.args
        if wanted > MAX_STACK:
            raise HipError(Error.INVALID_VALUE, f"a stack has {MAX_STACK} bytes at most")
        self.device.stack = wanted

    def _reset(self, _: Request) -> None:
        self.device.reset()
        self._hanging = False


_HANDLERS: dict[Op, Callable[[Session, Request], Sequence[int] | Answer | None]] = {
    Op.INIT: Session._nothing,
    Op.VERSION: Session._version,
    Op.COUNT: Session._count,
    Op.DESCRIBE: Session._describe,
    Op.MEMORY: Session._memory,
    Op.MALLOC: Session._malloc,
    Op.MALLOC_HOST: Session._malloc,
    Op.MALLOC_MANAGED: Session._malloc,
    Op.FREE: Session._free,
    Op.RANGE: Session._range,
    Op.WRITE: Session._write,
    Op.READ: Session._read,
    Op.COPY: Session._copy,
    Op.FILL: Session._fill,
    Op.LOAD: Session._load,
    Op.UNLOAD: Session._unload,
    Op.FUNCTION: Session._function,
    Op.SYMBOL: Session._symbol,
    Op.LAUNCH: Session._launch,
    Op.OCCUPANCY: Session._occupancy,
    Op.BEST_BLOCK: Session._best_block,
    Op.STACK: Session._stack,
    Op.SYNC: Session._nothing,
    Op.QUERY: Session._nothing,
    Op.RESET: Session._reset,
    Op.TOUCH: Session._touch,
    Op.ORDER: Session._order,
    Op.LACKS: Session._lacks,
    Op.PRINTED: Session._printed,
    Op.REGISTER: Session._register,
    Op.COMPILE: Session._compile,
    Op.COMPILED: Session._compiled,
}
