"""The one list of names: what `tacit` offers, where each of them is defined, and what the command line calls it.

Nothing is imported here before it is asked for: neither a device nor `tacit --help` waits for a compiler."""

import importlib
import re
from typing import Any

JOINT = {
    "JointLinUCB": "tacit.bandits.joint.lin_ucb",
    "JointGLM": "tacit.bandits.joint.glm",
    "JointGLMRare": "tacit.bandits.joint.glm_rare",
    "JointReweighted": "tacit.bandits.joint.reweighted",
    "JointSquareCB": "tacit.bandits.joint.square_cb",
}
SHUFFLE = {
    "ShuffleNewton": "tacit.bandits.shuffle.newton",
    "ShuffleGLM": "tacit.bandits.shuffle.glm",
    "ShuffleLinUCB": "tacit.bandits.shuffle.lin_ucb",
}
LOCAL = {
    "LocalIRLS": "tacit.bandits.local.irls",
    "LocalLinUCB": "tacit.bandits.local.lin_ucb",
    "LocalOnlineUCB": "tacit.bandits.local.online",
    "LocalAnytimeUCB": "tacit.bandits.local.online",
    "LocalCombiner": "tacit.bandits.local.combiner",
    "LocalGLM": "tacit.bandits.local.glm",
    "LocalReweighted": "tacit.bandits.local.reweighted",
    "LocalSquareCB": "tacit.bandits.local.square_cb",
}
REFERENCES = {
    "Uniform": "tacit.bandits.references.uniform",
    "LinUCB": "tacit.bandits.references.lin_ucb",
    "MLEUCB": "tacit.bandits.references.mle_ucb",
    "GLMUCB": "tacit.bandits.references.glm_ucb",
    "GLOC": "tacit.bandits.references.gloc",
    "RSGLinUCB": "tacit.bandits.references.rs_glin_ucb",
    "BGLinCB": "tacit.bandits.references.b_glin_cb",
    "ECOLog": "tacit.bandits.references.ecolog",
    "LogisticTS": "tacit.bandits.references.logistic_ts",
}
ALGORITHMS = JOINT | SHUFFLE | LOCAL | REFERENCES
HOMES = ALGORITHMS | {  # of every public name
    "Anytime": "tacit.bandits.anytime",
    "Bandit": "tacit.bandits.base",
    "Budget": "tacit.privacy.budget",
    "Certificate": "tacit.privacy.certificate",
    "Choice": "tacit.bandits.choices",
    "Choices": "tacit.bandits.choices",
    "Earnings": "tacit.bandits.joint.earnings",
    "Embedded": "tacit.bandits.embedded",
    "Result": "tacit.experiments.result",
    "Secure": "tacit.privacy.noise",
    "Server": "tacit.bandits.server",
    "Shuffler": "tacit.roles.shuffler",
    "Simulated": "tacit.privacy.noise",
    "Spec": "tacit.experiments.spec",
    "Stored": "tacit.bandits.stored.face",
    "StoredChoice": "tacit.bandits.stored.asks",
    "recover": "tacit.bandits.stored.recovery",
    "retire": "tacit.bandits.stored.retirement",
    "simulate": "tacit.experiments.runner",
}

ACRONYMS = {
    "MLEUCB": "mle-ucb",
    "GLMUCB": "glm-ucb",
    "RSGLinUCB": "rs-glin-ucb",
    "BGLinCB": "b-glin-cb",
    "ECOLog": "ecolog",
}


def kebab(name: str) -> str:
    """JointLinUCB -> joint-lin-ucb, JointGLMRare -> joint-glm-rare; names of acronyms are listed above."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name)
    return ACRONYMS.get(name, words.lower())


# What the command line calls them: name there -> (module, name in it).
BANDITS = {kebab(name): (home, name) for name, home in ALGORITHMS.items()}
ENVIRONMENTS = {
    name.replace("_", "-"): (f"tacit.environments.{home}", name)
    for home, names in {
        "synthetic": ("ball", "basis", "drift", "fixed", "gap", "rare", "shift", "skewed", "sphere", "tail"),
        "classification": ("breast_cancer", "digits"),
        "disjoint": ("disjoint",),
        "hybrid": ("hybrid",),
        "real.adult": ("adult",),
        "real.census": ("census",),
        "real.fashion": ("fashion",),
        "real.keel": ("letter", "optdigits", "texture"),
        "real.movielens": ("movielens",),
        "replay": ("replay",),
    }.items()
    for name in names
}
FETCHED = tuple(name for name, (home, _) in ENVIRONMENTS.items() if ".real." in home)  # data of `tacit fetch`
REPRODUCTIONS = {
    "shariff-figure1": ("tacit.reproductions.shariff_figure1", "reproduce"),
    "shariff-d1": ("tacit.reproductions.shariff_d1", "reproduce"),
    "shariff-d2": ("tacit.reproductions.shariff_d2", "reproduce"),
    "shariff-d3": ("tacit.reproductions.shariff_d3", "reproduce"),
    "table2": ("tacit.reproductions.table2", "reproduce"),
    "figure1-logistic": ("tacit.reproductions.figure1", "logistic"),
    "figure1-probit": ("tacit.reproductions.figure1", "probit"),
    "ablations": ("tacit.reproductions.ablations", "reproduce"),
    "optimiser": ("tacit.reproductions.optimiser", "reproduce"),
    "ldp-figure1": ("tacit.reproductions.ldp_figure1", "reproduce"),
    "ldp-table1": ("tacit.reproductions.ldp_table1", "reproduce"),
    "local-suite": ("tacit.reproductions.local_suite", "reproduce"),
    "suite": ("tacit.reproductions.suite", "reproduce"),
    "public": ("tacit.reproductions.public", "reproduce"),
    "oracles": ("tacit.reproductions.oracles", "reproduce"),
    "shuffle": ("tacit.reproductions.shuffle", "reproduce"),
    "reweighted": ("tacit.reproductions.reweighted", "reproduce"),
    "errata": ("tacit.reproductions.errata", "reproduce"),
}
ROLES = ("analyzer", "shuffler", "local")  # that run as processes of their own
BENCHES = ("speed", "noise", "shuffle", "local", "serve", "roles", "blocks", "dimension")  # modules of tacit.bench


def load(home: str, name: str) -> Any:
    """What is called `name` in the module `home`."""
    return getattr(importlib.import_module(home), name)
