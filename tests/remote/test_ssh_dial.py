"""Fresh attempts beside one that hangs: which one is taken, which are left, and when it is given up."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

import pytest

from remote.ssh_dial import ATTEMPTS, Address, Dialer, first_connected
from tests.waits import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ONE: Address = (socket.AF_INET, ("192.0.2.1", 22))
TWO: Address = (socket.AF_INET, ("192.0.2.2", 22))
SOON_S = 0.001
NEVER_S = 3_600.0


class Network:
    """Attempts that hang until the test says what becomes of them."""

    def __init__(self) -> None:
        self.started: list[Address] = []
        self.answers: list[asyncio.Future[None]] = []
        self.sockets: list[socket.socket] = []
        self.most = 0
        """Attempts that were under way at one time, at most."""

    async def connect(self, address: Address) -> socket.socket:
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.started.append(address)
        self.answers.append(answer)
        self.most = max(self.most, len(self.hanging()))
        sock = socket.socket()
        self.sockets.append(sock)
        try:
            await answer
        except BaseException:
            sock.close()
            raise
        return sock

    def hanging(self) -> list[int]:
        """The numbers of the attempts that are under way."""
        return [number for number, answer in enumerate(self.answers) if not answer.done()]

    def open(self) -> list[int]:
        """The numbers of the attempts whose socket is open."""
        return [number for number, sock in enumerate(self.sockets) if sock.fileno() >= 0]


@pytest.fixture
async def network() -> AsyncIterator[Network]:
    network = Network()
    yield network
    for sock in network.sockets:
        sock.close()


async def test_a_hanging_attempt_is_joined_by_fresh_ones_and_never_by_many(network: Network) -> None:
    dialling = asyncio.create_task(first_connected([ONE], network.connect, again_s=SOON_S))
    await until(lambda: len(network.started) >= 6)
    assert network.most == ATTEMPTS
    newest = network.hanging()[-1]
    network.answers[newest].set_result(None)
    assert await dialling is network.sockets[newest]
    assert network.open() == [newest]


async def test_an_attempt_that_is_slow_to_answer_is_not_left_for_a_fresh_one(network: Network) -> None:
    dialling = asyncio.create_task(first_connected([ONE], network.connect, again_s=0.3))
    await until(lambda: len(network.started) >= ATTEMPTS)
    older, newer = network.hanging()
    network.answers[older].set_result(None)
    assert await dialling is network.sockets[older]
    assert network.open() == [older]
    assert network.answers[newer].cancelled()


async def test_the_hosts_refusal_ends_it(network: Network) -> None:
    dialling = asyncio.create_task(first_connected([ONE], network.connect, again_s=0.3))
    await until(lambda: len(network.started) >= ATTEMPTS)
    network.answers[-1].set_exception(ConnectionRefusedError("no"))
    with pytest.raises(ConnectionRefusedError):
        await dialling
    assert network.open() == []


async def test_another_address_is_tried_beside_one_that_hangs(network: Network) -> None:
    dialling = asyncio.create_task(first_connected([ONE, TWO], network.connect, again_s=NEVER_S, next_address_s=SOON_S))
    await until(lambda: network.started == [ONE, TWO])
    network.answers[1].set_result(None)
    assert await dialling is network.sockets[1]
    assert network.open() == [1]


async def test_an_address_that_fails_makes_room_for_the_next_at_once(network: Network) -> None:
    dialling = asyncio.create_task(
        first_connected([ONE, TWO], network.connect, again_s=NEVER_S, next_address_s=NEVER_S)
    )
    await until(lambda: network.started == [ONE])
    network.answers[0].set_exception(OSError("no route"))
    await until(lambda: network.started == [ONE, TWO])
    network.answers[1].set_exception(ConnectionRefusedError("no"))
    with pytest.raises(ConnectionRefusedError):  # it says more than the other failure
        await dialling


async def test_two_that_succeed_at_once_leave_one_open(network: Network) -> None:
    dialling = asyncio.create_task(first_connected([ONE], network.connect, again_s=0.3))
    await until(lambda: len(network.started) >= ATTEMPTS)
    for number in network.hanging():
        network.answers[number].set_result(None)
    taken = await dialling
    assert [network.sockets[number] for number in network.open()] == [taken]


async def test_giving_up_leaves_nothing_open(network: Network) -> None:
    dialling = asyncio.create_task(first_connected([ONE, TWO], network.connect, again_s=SOON_S, next_address_s=SOON_S))
    await until(lambda: len(network.started) > 2 * ATTEMPTS)
    dialling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await dialling
    assert network.open() == []


@pytest.mark.parametrize("local", [None, ("127.0.0.1", 0)])
async def test_a_real_connection(local: tuple[str, int] | None) -> None:
    heard = asyncio.get_running_loop().create_future()
    server = await asyncio.start_server(lambda _reader, writer: heard.set_result(writer), "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        transport, _ = await Dialer(local=local).create_connection(asyncio.Protocol, "localhost", port)
        assert transport.get_extra_info("peername") == ("127.0.0.1", port)
        writer = await heard
        transport.close()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def test_an_address_to_connect_from_of_another_family() -> None:
    dialer = Dialer(local=("::1", 0))
    with pytest.raises(OSError, match="another family"):
        await dialer.create_connection(asyncio.Protocol, "127.0.0.1", 9)
