"""People and whether they earn more than 50 000 dollars: UCI's Adult, from the census of 1994."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reticent_lab.environments.labelled import Labelled, Rows
from reticent_lab.environments.real.encoding import codes, intervals, names_of, one_hot
from reticent_lab.environments.real.fetch import files

FIELDS = 15
INCOMES = ("<=50K", ">50K")
NUMBERS = {0: (20, 25, 30, 35, 45, 55, 65), 10: (1, 5000, 10_000), 11: (1, 1900), 12: (20, 35, 40, 41, 50, 60)}
# Column -> its values, from the file's own description.
COLUMNS = {
    1: "?,Federal-gov,Local-gov,Never-worked,Private,Self-emp-inc,Self-emp-not-inc,State-gov,Without-pay",
    3: "10th,11th,12th,1st-4th,5th-6th,7th-8th,9th,Assoc-acdm,Assoc-voc,Bachelors,Doctorate,HS-grad,Masters,Preschool,"
    "Prof-school,Some-college",
    5: "Divorced,Married-AF-spouse,Married-civ-spouse,Married-spouse-absent,Never-married,Separated,Widowed",
    6: "?,Adm-clerical,Armed-Forces,Craft-repair,Exec-managerial,Farming-fishing,Handlers-cleaners,Machine-op-inspct,"
    "Other-service,Priv-house-serv,Prof-specialty,Protective-serv,Sales,Tech-support,Transport-moving",
    7: "Husband,Not-in-family,Other-relative,Own-child,Unmarried,Wife",
    8: "Amer-Indian-Eskimo,Asian-Pac-Islander,Black,Other,White",
    9: "Female,Male",
}


@dataclass(frozen=True, kw_only=True)
class adult(Labelled):
    """48 842 people, 82 one-hot features, 2 classes: at most 50 000 dollars a year, or more."""

    def rows(self) -> Rows:
        return _rows()


@functools.cache
def _rows() -> Rows:
    return encode(files("adult"))


def encode(tables: Sequence[bytes]) -> Rows:
    """Age, gains, losses and hours in intervals, and 7 columns of words."""
    lines = [[word.strip() for word in line.split(",")] for table in tables for line in table.decode().splitlines()]
    columns = list(zip(*(line for line in lines if len(line) == FIELDS), strict=True))
    numbers = [(intervals(np.array(columns[i], np.float64), edges), names_of(edges)) for i, edges in NUMBERS.items()]
    words = [(columns[i], tuple(known.split(","))) for i, known in COLUMNS.items()]
    return Rows(one_hot([*numbers, *words]), codes([word.rstrip(".") for word in columns[-1]], INCOMES))
