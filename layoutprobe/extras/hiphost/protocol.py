"""What the shim and the server say to each other. The C side is generated from here (`header`).

A request is a head (u32 operation, u32 device, u32 count, u32 stream, u64 size), `count` numbers of 64 bits
and `size` bytes; an answer a head (i32 status, u32 count, u64 size), numbers and bytes. Both little-endian.
The first message comes from the server: four numbers (version, address, offset and size of the memory that
both sides share) and the file descriptor of that memory.
"""

from __future__ import annotations

import enum
import json
import socket
import struct
from collections.abc import Sequence

from msgspec import Struct

from layoutprobe.extras.hiphost.heap import BEGIN, SHARED_BEGIN, SHARED_SIZE, SIZE
from layoutprobe.extras.hiphost.order import Ordered

VERSION = 0x4C50_0001
SOCKET = "LAYOUTPROBE_HIP_SOCKET"
"""Environment variable that names the server's socket."""

MAX_ARGS = 16
MAX_VALUES = 2048
MAX_KERNARG = 1 << 14
CHUNK = 64 << 20
MAX_BYTES = 256 << 20
"""Bytes of one request: a code object, or a chunk of memory."""

WAITS = 1 << 31
"""Beside the number of a stream: the caller waits."""

REQUEST = struct.Struct("<IIIIQ")
ANSWER = struct.Struct("<iIQ")
HELLO = struct.Struct("<4Q")


class Op(enum.IntEnum):
    """Operations: arguments -> numbers (bytes in brackets)."""

    INIT = 0  # ->
    VERSION = 1  # -> runtime, driver
    COUNT = 2  # -> devices
    DESCRIBE = 3  # device -> numbers by Value [name and target, 256 bytes each]
    MEMORY = 4  # -> free, total
    MALLOC = 5  # size -> address
    MALLOC_HOST = 6  # size -> address
    MALLOC_MANAGED = 7  # size -> address
    FREE = 8  # address ->
    RANGE = 9  # address -> start, size, type of memory
    WRITE = 10  # address [bytes] ->
    READ = 11  # address, size -> [bytes]
    COPY = 12  # to, from, size ->
    FILL = 13  # address, count, width, item ->
    LOAD = 14  # [image] -> module
    UNLOAD = 15  # module ->
    FUNCTION = 16  # module [name] -> see `session.Session.function`
    SYMBOL = 17  # module [name] -> address, size
    LAUNCH = 18  # function, grid (3), block (3), dynamic LDS [explicit arguments] -> bytes to print, if any
    OCCUPANCY = 19  # function, work-items, dynamic LDS -> workgroups on a compute unit
    SYNC = 20  # ->
    QUERY = 21  # ->
    RESET = 22  # ->
    TOUCH = 23  # address, size ->
    ORDER = 24  # see `order.Ordered` ->
    LACKS = 25  # [name] -> the program called a function that the runtime lacks
    PRINTED = 26  # bytes at most -> [text that kernels have printed]
    REGISTER = 27  # bytes from the start of a page, size -> address
    COMPILE = 28  # headers, options, names [see runtime_compiler.py] -> result, ticket, bytes: all, log, code
    COMPILED = 29  # ticket -> [log, code, names]
    BEST_BLOCK = 30  # function, dynamic LDS, work-items at most or 0 -> workgroups on a unit, work-items
    STACK = 31  # bytes of a lane's stack where the compiler does not know how much a kernel takes ->


class Value(enum.IntEnum):
    """Numbers of a device."""

    ZERO = 0
    ONE = 1
    MEMORY = 2
    LDS = 3
    UNIT_LDS = 4
    REGISTERS = 5
    WARP = 6
    THREADS = 7
    UNIT_THREADS = 8
    GRID = 9
    GRID_YZ = 10
    CLOCK = 11
    MAJOR = 12
    MINOR = 13
    UNITS = 14
    ALIGNMENT = 15
    PITCH = 16


class Error(enum.IntEnum):
    """Statuses of HIP, by the end of their names. Numbers: AMD's hip_runtime_api.h."""

    SUCCESS = 0
    INVALID_VALUE = 1
    OUT_OF_MEMORY = 2
    NOT_INITIALIZED = 3
    DEINITIALIZED = 4
    INVALID_CONFIGURATION = 9
    INVALID_PITCH_VALUE = 12
    INVALID_SYMBOL = 13
    INVALID_DEVICE_POINTER = 17
    INVALID_MEMCPY_DIRECTION = 21
    INSUFFICIENT_DRIVER = 35
    INVALID_DEVICE_FUNCTION = 98
    NO_DEVICE = 100
    INVALID_DEVICE = 101
    INVALID_IMAGE = 200
    INVALID_CONTEXT = 201
    NO_BINARY_FOR_GPU = 209
    FILE_NOT_FOUND = 301
    SHARED_OBJECT_INIT_FAILED = 303
    INVALID_HANDLE = 400
    NOT_FOUND = 500
    NOT_READY = 600
    ILLEGAL_ADDRESS = 700
    LAUNCH_OUT_OF_RESOURCES = 701
    LAUNCH_TIME_OUT = 702
    HOST_MEMORY_ALREADY_REGISTERED = 712
    HOST_MEMORY_NOT_REGISTERED = 713
    LAUNCH_FAILURE = 719
    NOT_SUPPORTED = 801
    STREAM_CAPTURE_UNSUPPORTED = 900
    STREAM_CAPTURE_UNMATCHED = 903
    STREAM_CAPTURE_UNJOINED = 904
    UNKNOWN = 999

    @property
    def hip_name(self) -> str:
        """As HIP writes it: hipErrorInvalidValue."""
        if self is Error.SUCCESS:
            return "hipSuccess"
        return "hipError" + "".join(part.capitalize() for part in self.name.split("_"))

    @property
    def words(self) -> str:
        """What it says in English."""
        return "no error" if self is Error.SUCCESS else self.name.replace("_", " ").lower()


def header() -> str:
    """ops.h, which the C sources include."""
    numbers = {
        "SHIM_VERSION": VERSION,
        "SHIM_MAX_VALUES": MAX_VALUES,
        "SHIM_MAX_KERNARG": MAX_KERNARG,
        "SHIM_CHUNK": CHUNK,
        "SHIM_WAITS": WAITS,
        "SHIM_DEVICE_BEGIN": BEGIN,
        "SHIM_DEVICE_SIZE": SIZE,
        "SHIM_SHARED_BEGIN": SHARED_BEGIN,
        "SHIM_SHARED_SIZE": SHARED_SIZE,
    }
    lines = [f"#define SHIM_SOCKET {json.dumps(SOCKET)}"]
    lines += [f"#define {name} {value:#x}ull" for name, value in numbers.items()]
    lines += [f"#define OP_{op.name} {op.value}" for op in Op]
    lines += [f"#define ORDER_{one.name} {one.value}" for one in Ordered]
    lines += [f"#define VALUE_{value.name} {value.value}" for value in Value]
    lines += [f"#define {error.hip_name} {error.value}" for error in Error]
    table = " ".join(f"X({e.hip_name}, {e.value}, {json.dumps(e.words)})" for e in Error)
    return "\n".join([*lines, f"#define SHIM_ERRORS(X) {table}", ""])


class Request(Struct, frozen=True):
    """What the program asks.

    Attributes:
        op: the operation.
        device: number of the calling thread's device.
        stream: on which it is work; 0: the null stream.
        waits: the caller goes on when the work has ended.
        args: its numbers.
        data: its bytes.
    """

    op: Op
    device: int
    stream: int
    waits: bool
    args: tuple[int, ...]
    data: bytearray


class ProtocolError(Exception):
    """The other side does not speak this protocol."""


def receive(connection: socket.socket) -> Request | None:
    """The next request; None when the program has ended.

    Raises:
        ProtocolError: a request that cannot be; the connection is of no use any more.
    """
    head = _exactly(connection, REQUEST.size)
    if head is None:
        return None
    number, device, count, stream, size = REQUEST.unpack(head)
    if number >= len(Op) or count > MAX_ARGS or size > MAX_BYTES:
        raise ProtocolError(f"operation {number} with {count} numbers and {size} bytes")
    numbers, data = _exactly(connection, 8 * count), _exactly(connection, size)
    if numbers is None or data is None:
        return None
    waits = bool(stream & WAITS)
    return Request(Op(number), device, stream & ~WAITS, waits, struct.unpack(f"<{count}Q", numbers), data)


def _exactly(connection: socket.socket, size: int) -> bytearray | None:
    """So many bytes; None where the connection ends before."""
    data = bytearray(size)
    view = memoryview(data)
    while view:
        got = connection.recv_into(view)
        if got == 0:
            return None
        view = view[got:]
    return data


def answer(connection: socket.socket, status: int, values: Sequence[int] = (), data: bytes = b"") -> None:
    """Send an answer."""
    head = ANSWER.pack(status, len(values), len(data)) + struct.pack(f"<{len(values)}Q", *values)
    connection.sendall(head)
    connection.sendall(data)
