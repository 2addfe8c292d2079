"""Worlds to learn in: the papers' synthetic settings, harder ones, real data and replayed logs."""

from tacit.environments.base import Environment, World
from tacit.environments.classification import breast_cancer, digits
from tacit.environments.disjoint import disjoint
from tacit.environments.replay import replay
from tacit.environments.synthetic import ball, basis, drift, fixed, gap, rare, shift, skewed, sphere, tail

__all__ = [
    "Environment",
    "World",
    "ball",
    "basis",
    "breast_cancer",
    "digits",
    "disjoint",
    "drift",
    "fixed",
    "gap",
    "rare",
    "replay",
    "shift",
    "skewed",
    "sphere",
    "tail",
]
