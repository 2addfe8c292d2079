"""The only code that adds noise: prefix sums of bounded vectors under continual release, and single sums."""

from tacit.aggregators.buffered import Buffered
from tacit.aggregators.continual import Continual
from tacit.aggregators.discounted import Discounted
from tacit.aggregators.grid import Grid, on_grid
from tacit.aggregators.queries import Queries, Query
from tacit.aggregators.toeplitz import Toeplitz
from tacit.aggregators.tree import Tree, WishartTree

__all__ = [
    "Buffered",
    "Continual",
    "Discounted",
    "Grid",
    "Queries",
    "Query",
    "Toeplitz",
    "Tree",
    "WishartTree",
    "on_grid",
]
