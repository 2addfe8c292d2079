"""Attacks on the presence and time of reports: the adversary sees when reports leave a device, how many, and what is in
them. Three outboxes with bugs are planted: one reports at the click, one only if a reward came, and one, on a page that
whoever clicks leaves, in the visit of the choice."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator

from reticent.data import Array
from reticent.privacy.budget import Budget
from reticent_devices.bandits.local.irls import LocalIRLS
from reticent_devices.roles.account import Lifetime
from reticent_devices.roles.local import LocalClient
from reticent_devices.roles.outbox import Outbox
from reticent_devices.roles.outbox_state import Item
from reticent_lab.audit.attack import Attack

EPSILON = 1.0
WAIT, JITTER = 3600.0, 900.0
TICKS = np.linspace(0.0, WAIT + JITTER, 6)[1:]  # when the program looks what is due
AGAIN = 2 * (WAIT + JITTER)  # when a page that was left is opened again
ARMS = [[0.6, 0.0], [0.0, 0.9]]

Reward = Callable[[int, Generator], tuple[float, float] | None]  # (when, how much) in a world; None: never


def attacks() -> list[Attack]:
    later = "A click (reward 1) soon after the choice, or a dismissal (reward 0) late"
    never = "A click soon after the choice, or nothing at all"
    left = f"{never}, on a page that whoever clicks leaves, and that is opened again later"
    return [
        _attack("report-time", Outbox, _dismissed, True, later),
        _attack("report-presence", Outbox, _never, True, never),
        _attack("report-at-the-click", AtTheClick, _never, False, f"Planted: reports at the click. {never}"),
        _attack("report-if-rewarded", IfRewarded, _never, False, f"Planted: reports rewards alone. {never}"),
        _attack("report-visit", Outbox, _never, True, left, page=True),
        _attack(
            "report-in-the-visit", InTheVisit, _never, False, f"Planted: reports at once when due. {left}", page=True
        ),
    ]


class AtTheClick(Outbox):
    """A bug: the report leaves when the reward comes."""

    def _due(self, item: Item) -> bool:
        return item.reward is not None or super()._due(item)


class IfRewarded(Outbox):
    """A bug: nothing is reported where no reward came."""

    def _due(self, item: Item) -> bool:
        return item.reward is not None and super()._due(item)


class InTheVisit(Outbox):
    """A bug: the report leaves when its time has come, on a page that is still open."""

    def __init__(self, store: Any, **options: Any) -> None:
        super().__init__(store, **options | {"resident": True})


class _Memory:
    def __init__(self) -> None:
        self._text = ""

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        yield

    def read(self) -> str:
        return self._text

    def write(self, text: str) -> None:
        self._text = text


def _dismissed(world: int, rng: Generator) -> tuple[float, float] | None:
    return (float(rng.uniform(0.0, 0.2)), 1.0) if world else (float(rng.uniform(0.7, 0.99)), 0.0)


def _never(world: int, rng: Generator) -> tuple[float, float] | None:
    return (float(rng.uniform(0.0, 0.2)), 1.0) if world else None


def _attack(name: str, kind: type[Outbox], reward: Reward, claimed: bool, how: str, *, page: bool = False) -> Attack:
    server = LocalIRLS(2, Budget(EPSILON, 0.0), public_arms=True)
    board = server.billboard()

    def scores(world: int, runs: int, rng: Generator) -> Array:
        return np.array([_score(kind, board, reward(world, rng), page) for _ in range(runs)])

    return Attack(
        name=name,
        view="presence, time and content of reports",
        epsilon=EPSILON,
        delta=0.0,
        claimed=claimed,
        how=f"{how}; score: none or several reports, then whether it left before the deadline, then its bit and time.",
        scores=scores,
        share=0.1,
    )


def _score(kind: type[Outbox], board: bytes, reward: tuple[float, float] | None, page: bool) -> float:
    """One device through one choice: larger is more like a click."""
    now, seen, store, ledger = [0.0], [], _Memory(), _Memory()

    def send(report: bytes) -> bool:
        seen.append((now[0], report[-1]))
        return True

    def visit() -> Outbox:
        return kind(
            store,
            open=lambda given: LocalClient(given, epsilon=EPSILON, public_arms=True),
            send=send,
            wait=WAIT,
            jitter=JITTER,
            weekly=1,
            lifetime=Lifetime(epsilon=EPSILON),
            ledger=ledger,
            resident=not page,
            clock=lambda: now[0],
        )

    outbox = visit()
    ticket = outbox.choose(board, ARMS)
    for tick in TICKS:
        if reward is not None and now[0] <= reward[0] * WAIT < tick:
            now[0] = reward[0] * WAIT
            outbox.reward(ticket.id, reward[1])
            if page:
                break
        now[0] = float(tick)
        outbox.flush()
    if page:
        now[0] = AGAIN
        visit().flush()
    if len(seen) != 1:
        return -10.0 if not seen else 10.0
    at, bit = seen[0]
    return 5.0 * (at < WAIT or at == AGAIN) + bit - at / (4 * (WAIT + JITTER))
