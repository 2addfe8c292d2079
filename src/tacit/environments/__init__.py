"""Worlds to learn in: the papers' synthetic settings, harder ones, real data and replayed logs."""

from tacit.environments.base import Environment as Environment
from tacit.environments.base import World as World
from tacit.environments.classification import breast_cancer as breast_cancer
from tacit.environments.classification import digits as digits
from tacit.environments.delay import Delay as Delay
from tacit.environments.disjoint import disjoint as disjoint
from tacit.environments.hybrid import hybrid as hybrid
from tacit.environments.messages import messages as messages
from tacit.environments.real.adult import adult as adult
from tacit.environments.real.census import census as census
from tacit.environments.real.fashion import fashion as fashion
from tacit.environments.real.keel import letter as letter
from tacit.environments.real.keel import optdigits as optdigits
from tacit.environments.real.keel import texture as texture
from tacit.environments.real.movielens import movielens as movielens
from tacit.environments.replay import replay as replay
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
