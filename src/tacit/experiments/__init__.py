"""Many bandits x budgets x seeds in many worlds: the runner, result rows, tables and figures."""

from tacit.experiments.result import Result
from tacit.experiments.runner import simulate
from tacit.experiments.spec import Spec

__all__ = ["Result", "Spec", "simulate"]
