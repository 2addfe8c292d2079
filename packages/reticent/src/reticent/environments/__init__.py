"""Worlds to learn in: the papers' synthetic settings, harder ones, and people with fields."""

from reticent.environments.base import Environment as Environment
from reticent.environments.base import World as World
from reticent.environments.delay import Delay as Delay
from reticent.environments.disjoint import disjoint as disjoint
from reticent.environments.messages import messages as messages
from reticent.environments.synthetic import ball as ball
from reticent.environments.synthetic import basis as basis
from reticent.environments.synthetic import drift as drift
from reticent.environments.synthetic import fixed as fixed
from reticent.environments.synthetic import gap as gap
from reticent.environments.synthetic import rare as rare
from reticent.environments.synthetic import shift as shift
from reticent.environments.synthetic import skewed as skewed
from reticent.environments.synthetic import sphere as sphere
from reticent.environments.synthetic import tail as tail
