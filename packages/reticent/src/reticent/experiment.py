"""An algorithm beside a holdout: with it, it is known what is earned, and whether that is more than before."""

import functools
from dataclasses import dataclass

from reticent import checks
from reticent.core.onepass import OnePass
from reticent.features.schema import Schema
from reticent.joint import JointGLM, planned
from reticent.model.holdout import Holdout

SILENCE = (
    "Expected a reward with window and default in an experiment: every choice counts once, at a public time, with the "
    "reward that came by then or with the default, got {}."
)
UNKNOWN = (
    "Expected a discount whose mechanism keeps all of its steps in an experiment, since people so far are summed, got "
    "one that lets the oldest go."
)


@dataclass(frozen=True, eq=False)
class Experiment:
    """Some numbers of choices, drawn by a secret key, are the holdout's, and their rewards are summed apart, privately
    (algorithms.groups; docs/trials.md). `trial_sums` has what was released, `reticent_serve.trial` what is known."""

    algorithm: JointGLM
    holdout: Holdout

    __repr__ = checks.concise

    def __post_init__(self) -> None:
        if not isinstance(self.algorithm, JointGLM):
            raise ValueError(f"Expected an algorithm with sums (JointGLM), got {type(self.algorithm).__name__}.")
        if not isinstance(self.holdout, Holdout):
            raise ValueError(f"Expected holdout to be Holdout(...), got {type(self.holdout).__name__}.")
        budget, reward, features = self.algorithm.budget, self.algorithm.reward, self.algorithm.features
        if self.algorithm.forget is not None:
            raise ValueError("Expected no forget in an experiment, since people so far are summed, got both.")
        if budget.unit is not None:
            raise ValueError(
                "Expected a budget for one round in an experiment, since which numbers count would be private, got "
                f"unit={budget.unit!r}."
            )
        if reward.default is None:
            raise ValueError(SILENCE.format("none" if reward.window is None else "no default"))
        named = features.actions if isinstance(features, Schema) else ()
        wanted = [one for one in (self.holdout.action, *self.holdout.actions) if one is not None]
        if named and not set(wanted) <= set(named):
            raise ValueError("Expected actions of the holdout that are actions of the features' schema, got others.")
        _ = self._exact  # which checks the rest

    def one_pass(self, *, exact: bool) -> OnePass:
        return self._exact if exact else self._floats

    @functools.cached_property
    def _exact(self) -> OnePass:
        return self._planned(exact=True)

    @functools.cached_property
    def _floats(self) -> OnePass:
        return self._planned(exact=False)

    def _planned(self, *, exact: bool) -> OnePass:
        out = planned(self.algorithm, self, exact=exact, holdout=self.holdout)
        if out.plan.mechanism.window < out.plan.mechanism.leaves:
            raise ValueError(UNKNOWN)
        return out


Algorithm = JointGLM | Experiment
