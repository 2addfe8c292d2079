"""Many bandits x budgets x seeds in many worlds: the runner, result rows, tables and figures."""

from reticent.experiments.result import Result
from reticent.experiments.runner import simulate
from reticent.experiments.spec import Spec

__all__ = ["Result", "Spec", "simulate"]
