"""People in work and their occupations: the US Census Bureau's surveys of 1994 and 1995 (UCI's Census-Income (KDD))."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reticent_lab.environments.labelled import Labelled, Rows
from reticent_lab.environments.real.encoding import codes, intervals, names_of, one_hot
from reticent_lab.environments.real.fetch import files

AGES = (20, 25, 30, 35, 45, 55, 65)
OCCUPATION = 9  # the column
OCCUPATIONS = (
    "Adm support including clerical",
    "Armed Forces",
    "Executive admin and managerial",
    "Farming forestry and fishing",
    "Handlers equip cleaners etc",
    "Machine operators assmblrs & inspctrs",
    "Other service",
    "Precision production craft & repair",
    "Private household services",
    "Professional specialty",
    "Protective services",
    "Sales",
    "Technicians and related support",
    "Transportation and material moving",
)
# Column -> its values for people in work, from the survey's code book.
COLUMNS = {
    1: "Federal government;Local government;Private;Self-employed-incorporated;Self-employed-not incorporated;"
    "State government;Without pay",
    4: "10th grade;11th grade;12th grade no diploma;1st 2nd 3rd or 4th grade;5th or 6th grade;7th and 8th grade;"
    "9th grade;Associates degree-academic program;Associates degree-occup /vocational;Bachelors degree(BA AB BS);"
    "Doctorate degree(PhD EdD);High school graduate;Less than 1st grade;Masters degree(MA MS MEng MEd MSW MBA);"
    "Prof school degree (MD DDS DVM LLB JD);Some college but no degree",
    6: "College or university;High school;Not in universe",
    7: "Divorced;Married-A F spouse present;Married-civilian spouse present;Married-spouse absent;Never married;"
    "Separated;Widowed",
    8: "Agriculture;Armed Forces;Business and repair services;Communications;Construction;Education;Entertainment;"
    "Finance insurance and real estate;Forestry and fisheries;Hospital services;Manufacturing-durable goods;"
    "Manufacturing-nondurable goods;Medical except hospital;Mining;Other professional services;"
    "Personal services except private HH;Private household services;Public administration;Retail trade;"
    "Social services;Transportation;Utilities and sanitary services;Wholesale trade",
    10: "Amer Indian Aleut or Eskimo;Asian or Pacific Islander;Black;Other;White",
    11: "All other;Central or South American;Chicano;Cuban;Do not know;Mexican (Mexicano);Mexican-American;NA;"
    "Other Spanish;Puerto Rican",
    12: "Female;Male",
    13: "No;Not in universe;Yes",
    15: "Children or Armed Forces;Full-time schedules;Not in labor force;PT for econ reasons usually FT;"
    "PT for econ reasons usually PT;PT for non-econ reasons usually FT;Unemployed full-time;Unemployed part- time",
    19: "Head of household;Joint both 65+;Joint both under 65;Joint one under 65 & one 65+;Nonfiler;Single",
    23: "Child 18 or older;Child under 18 ever married;Child under 18 never married;"
    "Group Quarters- Secondary individual;Householder;Nonrelative of householder;Other relative of householder;"
    "Spouse of householder",
    35: "Foreign born- Not a citizen of U S;Foreign born- U S citizen by naturalization;"
    "Native- Born abroad of American Parent(s);Native- Born in Puerto Rico or U S Outlying;"
    "Native- Born in the United States",
}


@dataclass(frozen=True, kw_only=True)
class census(Labelled):
    """148 318 people in work, 111 one-hot features, 14 occupations to guess: the long one, of dimension 1554."""

    def rows(self) -> Rows:
        return _rows()


@functools.cache
def _rows() -> Rows:
    return encode(files("census"))


def encode(tables: Sequence[bytes]) -> Rows:
    """Age in 8 intervals and 13 columns of words; people without an occupation are left out."""
    used = (0, OCCUPATION, *COLUMNS)
    people = []
    for table in tables:
        for line in table.decode().splitlines():
            words = line.split(",")
            if words[OCCUPATION].strip() in OCCUPATIONS:
                people.append([words[i].strip() for i in used])
    column = dict(zip(used, zip(*people, strict=True), strict=True))
    ages = intervals(np.array(column[0], np.float64), AGES)
    words_of = [(column[i], tuple(known.split(";"))) for i, known in COLUMNS.items()]
    return Rows(one_hot([(ages, names_of(AGES)), *words_of]), codes(column[OCCUPATION], OCCUPATIONS))
