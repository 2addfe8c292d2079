"""Worlds that test bandits: random ones, labelled and real data, pages of news, replayed logs."""

from tacit_lab.environments.classification import breast_cancer as breast_cancer
from tacit_lab.environments.classification import digits as digits
from tacit_lab.environments.clicks import clicks as clicks
from tacit_lab.environments.front_page import front_page as front_page
from tacit_lab.environments.random import random as random
from tacit_lab.environments.real.adult import adult as adult
from tacit_lab.environments.real.census import census as census
from tacit_lab.environments.real.fashion import fashion as fashion
from tacit_lab.environments.real.keel import letter as letter
from tacit_lab.environments.real.keel import optdigits as optdigits
from tacit_lab.environments.real.keel import texture as texture
from tacit_lab.environments.real.movielens import movielens as movielens
from tacit_lab.environments.replay import replay as replay
from tacit_lab.environments.sparse import sparse as sparse
