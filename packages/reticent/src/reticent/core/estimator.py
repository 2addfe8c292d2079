"""The estimate that follows from what was released: one release after the other, and from nothing else. Public."""

from typing import Any, NamedTuple

import numpy as np

from reticent.core import actions
from reticent.core.actions import Declared
from reticent.core.onepass import OnePass, OnePassEstimate
from reticent.data import Released
from reticent.kernels.rounds import next_boundary
from reticent.mechanisms import leaves
from reticent.mechanisms.grid import Grid


class Prior(NamedTuple):
    """What a predecessor released, and the std of its noise."""

    released: Released
    std: float


class Estimator:
    """One algorithm's estimates. `estimate` is what choices are made by: of the actions that are offered now. What
    follows the next release does not depend on it, but on that of the last one."""

    def __init__(self, algorithm: OnePass, declared: tuple[Declared, ...], prior: Prior | None = None) -> None:
        self.algorithm = algorithm if prior is None else algorithm.after(prior.std)
        self.step = 0  # releases so far
        self.entries = 0  # choices of the steps that were released
        self.looks: list[Released] = []  # what was released of an experiment, at each step
        self._prior, self._released, self.live = prior, None, algorithm.live(actions.at(declared, 0))
        self.estimate = self.last = algorithm.blank(self.live)
        if prior is not None:
            self._released = leaves.part(prior.released, slice(None))
            self.estimate = self.last = self._estimated(self._released, 0, None)

    _released: Released | None  # the sums as they were released at last, with those of a predecessor

    def follow(
        self, released: Released, step: int, entries: int, declared: tuple[Declared, ...], chosen: int | None = None
    ) -> None:
        """The release of that step, the next one or the last one again. The estimate is that of the actions which were
        offered when its step ended, after so many entries. chosen: as in models.protocol.Model.fit; None: all before
        it."""
        part = self.algorithm.experiment(released)
        self.looks[step - 1 :] = [] if part is None else [part]
        if self._prior is not None:
            released = leaves.after(self._prior.released, self.algorithm.plan.mechanism.fading, step, released)
        self.live, self._released = self.algorithm.live(actions.at(declared, entries)), released
        self.estimate = self.last = self._estimated(released, step, chosen)
        self.step, self.entries = step, entries

    def offer(self, declared: tuple[Declared, ...]) -> None:
        """The same release for the actions that are offered now. What follows the next release does not depend on it:
        a worker that begins later has never seen it."""
        live = self.algorithm.live(declared)
        if np.array_equal(live, self.live):
            return
        self.live = live
        if self._released is None:
            self.estimate = self.algorithm.blank(live)
        else:
            self.estimate = self._estimated(self._released, self.step, 0)

    def resume(
        self,
        released: Released,
        step: int,
        entries: int,
        estimate: OnePassEstimate,
        declared: tuple[Declared, ...],
        last: Any = None,
    ) -> None:
        """Go on from there. last: the estimate of the last release, where another is shown."""
        self.live = self.algorithm.live(declared)
        self._released, self.step, self.entries = released if step else None, step, entries
        self.estimate, self.last = estimate, estimate if last is None else last

    def _estimated(self, released: Released, step: int, chosen: int | None) -> OnePassEstimate:
        return self.algorithm.estimate(self.last, released, step, self.live, chosen)


class LeafEstimator(Estimator):
    """From noisy leaves. Whoever reads the same ones has the same estimate, to the last bit."""

    def __init__(self, algorithm: OnePass, declared: tuple[Declared, ...], prior: Prior | None) -> None:
        plan = algorithm.plan
        assert isinstance(plan.mechanism, Grid)
        self._prefixes, self._times = leaves.Prefixes(plan.mechanism), list[float]()  # times: of releases
        super().__init__(algorithm, declared, prior)

    def read(self, noisy: Released, declared: tuple[Declared, ...], at: float = 0.0, age: float = 0.0) -> None:
        """One leaf more. at: when its release is visible. age: how old the last choice of its step is then."""
        chosen = sum(time <= at - age for time in self._times)
        self._times.append(at)
        entries = int(next_boundary(self.entries, *self.algorithm.plan.schedule))
        self.follow(self._prefixes.following(noisy), self.step + 1, entries, declared, chosen)
