"""What a bandit believed, release by release, and what it would offer to profiles that the operator named: functions of
released sums and of public settings. Computed once for each release, however often it is looked at."""

import contextlib
from typing import Any, NamedTuple

import numpy as np

from reticent.models.segments import Segments
from reticent_serve.holders.certificate import LEVEL, Offers, Past
from reticent_serve.holders.stored import Stored
from reticent_serve.service import segments, trial
from reticent_serve.service.config import BanditSetting
from reticent_serve.service.trial import TrialView

MOST_CURVES, MOST_POINTS = 8, 200


class Belief(NamedTuple):
    """Of one feature, at one version."""

    name: str
    number: int
    estimate: float
    low: float
    high: float


class Summary(NamedTuple):
    """At the present version. `beliefs`: of at most MOST_CURVES features, those of the largest estimates; `left_out`:
    how many more there are. `precision`: how many times narrower intervals are than before the first release, on
    average. `clear`: how many intervals, of all features, do not hold 0. `level`: with which probability an interval
    holds the truth. `by_fields`: whether `segments` says what is learnt of people, from the first release on; `actions`
    are the names of those that it is of."""

    version: int
    level: float
    beliefs: list[Belief]
    left_out: int
    precision: float
    clear: int
    offers: dict[str, Offers]
    by_fields: bool = False
    segments: Segments | None = None
    actions: tuple[str, ...] = ()


class History:
    def __init__(self, stored: Stored, setting: BanditSetting) -> None:
        self._stored, self._setting = stored, setting
        self._cached: tuple[Any, Summary, dict[str, Any]] | None = None
        self._told: tuple[Any, TrialView | None] | None = None

    def summary(self) -> Summary:
        return self._at_present()[1]

    def shown(self) -> dict[str, Any]:
        """The curves, for the plot: one entry a release in each list, thinned where there are many."""
        return self._at_present()[2]

    def segments(self) -> dict[str, Any]:
        """What fields say of actions."""
        summary = self.summary()
        return {"version": summary.version, "segments": segments.written(summary.segments, summary.actions)}

    def trial(self) -> TrialView | None:
        """What the holdout says, once for each release, and once more when it has ended."""
        sums = self._stored.trial_sums
        mark = None if sums is None else (len(sums.looks), sums.ended)
        if self._told is None or self._told[0] != mark:
            self._told = mark, trial.view_of(sums, self._setting.horizon)
        return self._told[1]

    def _at_present(self) -> tuple[Any, Summary, dict[str, Any]]:
        while True:
            past, actions = self._stored.history, self._stored.actions
            if self._cached is None or self._cached[0] != (len(past), actions):
                summary = self._summary(past)
                self._cached = (len(past), actions), summary, self._curves(past, summary)
            if len(self._stored.history) == len(past):  # none has become visible meanwhile
                return self._cached

    def _summary(self, past: tuple[Past, ...]) -> Summary:
        first, last, setting = past[0], past[-1], self._setting
        schema = self._stored.features
        names = setting.labels if schema is None else schema.labels
        shown = np.arange(setting.dim) if schema is None else np.array(schema.present)
        order = shown[np.argsort(-np.abs(last.estimate[shown]), kind="stable")[:MOST_CURVES]]
        beliefs = [
            Belief(names[i], i, float(last.estimate[i]), float(last.low[i]), float(last.high[i]))
            for i in sorted(order.tolist())
        ]
        said = self._stored.segments
        width = max(float(np.mean((last.high - last.low)[shown])), 1e-12)
        return Summary(
            version=len(past) - 1,
            level=LEVEL,
            beliefs=beliefs,
            left_out=len(shown) - len(beliefs),
            precision=float(np.mean((first.high - first.low)[shown])) / width,
            clear=int(np.count_nonzero(((last.low > 0) | (last.high < 0))[shown])),
            offers=self._offers(),
            by_fields=self._stored.by_fields,
            segments=said,
            actions=() if said is None or schema is None else tuple(schema.actions[i] for i in said.actions),
        )

    def _offers(self) -> dict[str, Offers]:
        """What each profile would be offered; not of one that names an action which another worker has retired."""
        out = {}
        for who, one in self._setting.profiles.items():
            with contextlib.suppress(ValueError):
                out[who] = self._stored.offers(one.arms or one.context or {}, actions=one.actions)
        return out

    def _curves(self, past: tuple[Past, ...], summary: Summary) -> dict[str, Any]:
        picked = np.unique(np.linspace(0, len(past) - 1, min(len(past), MOST_POINTS)).round().astype(int)).tolist()
        at = [past[i] for i in picked]

        def curve(name: str, index: int) -> list[float]:
            return [round(float(getattr(one, name)[index]), 5) for one in at]

        return {
            "version": summary.version,
            "level": summary.level,
            "releases": picked,
            "choices": [one.choices for one in at],
            "visible_at": [one.visible_at or None for one in at],
            "features": [
                {"name": belief.name, **{part: curve(part, belief.number) for part in ("estimate", "low", "high")}}
                for belief in summary.beliefs
            ],
            "left_out": summary.left_out,
            "trial": trial.curve(self.trial()),
        }
