"""Worlds that test bandits: random ones, labelled and real data, pages of news, replayed logs."""

from reticent_lab.environments.classification import breast_cancer as breast_cancer
from reticent_lab.environments.classification import digits as digits
from reticent_lab.environments.clicks import clicks as clicks
from reticent_lab.environments.front_page import front_page as front_page
from reticent_lab.environments.random import random as random
from reticent_lab.environments.real.adult import adult as adult
from reticent_lab.environments.real.census import census as census
from reticent_lab.environments.real.fashion import fashion as fashion
from reticent_lab.environments.real.keel import letter as letter
from reticent_lab.environments.real.keel import optdigits as optdigits
from reticent_lab.environments.real.keel import texture as texture
from reticent_lab.environments.real.movielens import movielens as movielens
from reticent_lab.environments.replay import replay as replay
from reticent_lab.environments.sparse import sparse as sparse
