"""The server and programs that do not behave: it answers or lets go, and never hangs."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress

import pytest

from layoutprobe.errors import UsageError
from layoutprobe.extras.hiphost import protocol
from layoutprobe.extras.hiphost.heap import SHARED_BEGIN, SHARED_SIZE
from layoutprobe.extras.hiphost.pretence import Pretence
from layoutprobe.extras.hiphost.protocol import ANSWER, HELLO, REQUEST, SOCKET, Error, Op
from layoutprobe.extras.hiphost.server import Server

WORDS: list[str] = []
PROGRAMS: list[Program] = []


@pytest.fixture(autouse=True)
def _afterwards() -> Iterator[None]:
    WORDS.clear()
    yield
    while PROGRAMS:
        PROGRAMS.pop().close()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server("gfx1151", say=WORDS.append) as made:
        yield made


class Program:
    """A program without the C library in between."""

    def __init__(self, server: Server) -> None:
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.settimeout(20)
        self.connection.connect(server.environment()[SOCKET])
        hello, files, _, _ = socket.recv_fds(self.connection, HELLO.size, 1)
        self.hello, self.files = HELLO.unpack(hello), files
        PROGRAMS.append(self)

    def close(self) -> None:
        self.connection.close()
        while self.files:
            os.close(self.files.pop())

    def ask(self, op: int, *args: int, data: bytes = b"") -> tuple[int, tuple[int, ...], bytes]:
        head = REQUEST.pack(op, 0, len(args), 0, len(data)) + struct.pack(f"<{len(args)}Q", *args)
        self.connection.sendall(head + data)
        status, count, size = ANSWER.unpack(self._exactly(ANSWER.size))
        return status, struct.unpack(f"<{count}Q", self._exactly(8 * count)), self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        got = bytearray()
        while len(got) < size:
            part = self.connection.recv(size - len(got))
            assert part, "the server has hung up"
            got += part
        return bytes(got)

    def wait_for_the_end(self) -> None:
        """Read until the connection ends, after an answer perhaps; a timeout is a failure."""
        with suppress(ConnectionResetError):  # it had not read all that was sent
            while self.connection.recv(1):
                pass


def test_memory_is_handed_over(server: Server) -> None:
    program = Program(server)
    assert program.hello[0] == protocol.VERSION
    assert program.hello[1] == SHARED_BEGIN
    assert program.hello[3] == SHARED_SIZE
    status, (address,), _ = program.ask(Op.MALLOC, 64)
    assert status == 0
    assert program.ask(Op.WRITE, address, data=b"0123456789")[0] == 0
    assert program.ask(Op.READ, address + 2, 5)[2] == b"23456"


def test_programs_do_not_see_each_other(server: Server) -> None:
    one, other = Program(server), Program(server)
    (address,) = one.ask(Op.MALLOC, 64)[1]
    assert other.ask(Op.READ, address, 4)[0] == Error.INVALID_VALUE
    assert other.ask(Op.MALLOC, 64)[1] == (address,)
    one.ask(Op.WRITE, address, data=b"mine")
    other.ask(Op.WRITE, address, data=b"hers")
    assert one.ask(Op.READ, address, 4)[2] == b"mine"


@pytest.mark.parametrize(
    "head",
    [
        REQUEST.pack(99, 0, 0, 0, 0),
        REQUEST.pack(Op.MALLOC, 0, 1 << 20, 0, 0),
        REQUEST.pack(Op.WRITE, 0, 1, 0, 1 << 62),
    ],
)
def test_what_cannot_be_a_request_ends_the_connection(server: Server, head: bytes) -> None:
    program = Program(server)
    program.connection.sendall(head)
    program.wait_for_the_end()
    assert "speaks another language" in WORDS[0]
    assert Program(server).ask(Op.COUNT)[1] == (1,)


@pytest.mark.parametrize("size", [1, 12, REQUEST.size, REQUEST.size + 4])
def test_a_program_that_dies_in_the_middle_of_a_request(server: Server, size: int) -> None:
    program = Program(server)
    head = REQUEST.pack(Op.WRITE, 0, 1, 0, 100) + bytes(8)
    program.connection.sendall(head[:size])
    program.close()
    assert Program(server).ask(Op.COUNT)[1] == (1,)
    assert WORDS == []


@pytest.mark.parametrize("op", list(Op))
def test_numbers_that_are_missing_or_mad_get_an_answer(server: Server, op: Op) -> None:
    program = Program(server)
    for args in ((), (0,), (2**64 - 1,) * 4, (2**64 - 1,) * 8, (1,) * 16):
        status, _, _ = program.ask(op, *args, data=b"\xff\xfe")
        assert status in set(Error)
    assert not any("a bug" in words for words in WORDS)
    assert program.ask(Op.COUNT)[1] == (1,)


def test_the_server_ends_although_a_program_waits_for_ever() -> None:
    with Server("gfx1151", say=WORDS.append, pretence=Pretence(hang=True)) as server:
        program = Program(server)
        assert program.ask(Op.LAUNCH, *(1,) * 8)[0] == 0
        assert program.ask(Op.QUERY)[0] == Error.NOT_READY
        program.connection.sendall(REQUEST.pack(Op.SYNC, 0, 0, 0, 0))
    program.wait_for_the_end()


@pytest.mark.parametrize(
    "text", ["devices", "devices=x", "fail=launch", "fail=fly:1", "fail=launch:77777", "x=1", "hang=1"]
)
def test_a_pretence_that_cannot_be_read(text: str) -> None:
    with pytest.raises(UsageError, match="cannot be read") as caught:
        Pretence.parse(f"devices=1,{text}")
    assert "operations: init" in str(caught.value)


def test_a_pretence_in_full() -> None:
    found = Pretence.parse(
        "devices=2,target=t,memory=9,version=8,hang=launch,lost=7,fail=free:1:3,fail=load:209"
    )
    assert found == Pretence(
        devices=2, target="t", memory=9, version=8, hang=True, lost=7,
        fail={Op.FREE: (Error.INVALID_VALUE, 3), Op.LOAD: (Error.NO_BINARY_FOR_GPU, 1)},
    )  # fmt: skip
