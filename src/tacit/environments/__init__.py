"""Worlds to learn in: the papers' synthetic settings, harder ones, real data and replayed logs."""

from tacit.environments.ball import ball
from tacit.environments.base import Environment, World
from tacit.environments.basis import basis
from tacit.environments.breast_cancer import breast_cancer
from tacit.environments.digits import digits
from tacit.environments.fixed import fixed
from tacit.environments.gap import gap
from tacit.environments.rare import rare
from tacit.environments.replay import replay
from tacit.environments.shift import shift
from tacit.environments.skewed import skewed
from tacit.environments.sphere import sphere
from tacit.environments.tail import tail

__all__ = [
    "Environment",
    "World",
    "ball",
    "basis",
    "breast_cancer",
    "digits",
    "fixed",
    "gap",
    "rare",
    "replay",
    "shift",
    "skewed",
    "sphere",
    "tail",
]
