"""Worlds to learn in: the papers' synthetic settings, harder ones, and people with fields."""

from tacit.environments.base import Environment as Environment
from tacit.environments.base import World as World
from tacit.environments.delay import Delay as Delay
from tacit.environments.disjoint import disjoint as disjoint
from tacit.environments.messages import messages as messages
from tacit.environments.synthetic import ball as ball
from tacit.environments.synthetic import basis as basis
from tacit.environments.synthetic import drift as drift
from tacit.environments.synthetic import fixed as fixed
from tacit.environments.synthetic import gap as gap
from tacit.environments.synthetic import rare as rare
from tacit.environments.synthetic import shift as shift
from tacit.environments.synthetic import skewed as skewed
from tacit.environments.synthetic import sphere as sphere
from tacit.environments.synthetic import tail as tail
