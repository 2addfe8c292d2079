"""Worlds to learn in: the papers' synthetic settings, harder ones, real data and replayed logs."""

from tacit.environments.base import Environment, World
from tacit.environments.classification import breast_cancer, digits
from tacit.environments.disjoint import disjoint
from tacit.environments.hybrid import hybrid
from tacit.environments.real.adult import adult
from tacit.environments.real.census import census
from tacit.environments.real.fashion import fashion
from tacit.environments.real.keel import letter, optdigits, texture
from tacit.environments.real.movielens import movielens
from tacit.environments.replay import replay
from tacit.environments.synthetic import ball, basis, drift, fixed, gap, rare, shift, skewed, sphere, tail

__all__ = [
    "Environment",
    "World",
    "adult",
    "ball",
    "basis",
    "breast_cancer",
    "census",
    "digits",
    "disjoint",
    "drift",
    "fashion",
    "fixed",
    "gap",
    "hybrid",
    "letter",
    "movielens",
    "optdigits",
    "rare",
    "replay",
    "shift",
    "skewed",
    "sphere",
    "tail",
    "texture",
]
