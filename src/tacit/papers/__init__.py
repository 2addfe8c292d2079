"""Published algorithms, beside tacit's own: each as its paper has it, repaired where its claim is false, and said so.

Also private regression, the papers' regret bounds, their tables and figures (`tacit reproduce`) and attacks on them.
Nothing outside of this package imports it: the command line finds it by an entry point, as it finds a stranger's
(tacit.registry). Names are loaded when they are first used."""

from typing import TYPE_CHECKING

from tacit import registry

if TYPE_CHECKING:
    from tacit.papers.anytime import Anytime as Anytime
    from tacit.papers.joint.adac_gope import AdaCGOPE as AdaCGOPE
    from tacit.papers.joint.adac_oful import AdaCOFUL as AdaCOFUL
    from tacit.papers.joint.adac_ucb import AdaCUCB as AdaCUCB
    from tacit.papers.joint.fliphat import Fliphat as Fliphat
    from tacit.papers.joint.glm_rare import JointGLMRare as JointGLMRare
    from tacit.papers.joint.reweighted import JointReweighted as JointReweighted
    from tacit.papers.joint.shariff import ShariffLinUCB as ShariffLinUCB
    from tacit.papers.joint.square_cb import JointSquareCB as JointSquareCB
    from tacit.papers.local.combiner import LocalCombiner as LocalCombiner
    from tacit.papers.local.glm import LocalGLM as LocalGLM
    from tacit.papers.local.lin_ucb import LocalLinUCB as LocalLinUCB
    from tacit.papers.local.online import LocalAnytimeUCB as LocalAnytimeUCB
    from tacit.papers.local.online import LocalOnlineUCB as LocalOnlineUCB
    from tacit.papers.local.reweighted import LocalReweighted as LocalReweighted
    from tacit.papers.local.square_cb import LocalSquareCB as LocalSquareCB
    from tacit.papers.references.b_glin_cb import BGLinCB as BGLinCB
    from tacit.papers.references.ecolog import ECOLog as ECOLog
    from tacit.papers.references.glm_ucb import GLMUCB as GLMUCB
    from tacit.papers.references.gloc import GLOC as GLOC
    from tacit.papers.references.logistic_ts import LogisticTS as LogisticTS
    from tacit.papers.references.rs_glin_ucb import RSGLinUCB as RSGLinUCB
    from tacit.papers.shuffle.distributed import DistributedElimination as DistributedElimination
    from tacit.papers.shuffle.glm import ShuffleGLM as ShuffleGLM
    from tacit.papers.shuffle.lin_ucb import ShuffleLinUCB as ShuffleLinUCB
    from tacit.papers.shuffle.sblb import ShuffleSBLB as ShuffleSBLB
JOINT = {
    "AdaCGOPE": "tacit.papers.joint.adac_gope",
    "AdaCOFUL": "tacit.papers.joint.adac_oful",
    "AdaCUCB": "tacit.papers.joint.adac_ucb",
    "Fliphat": "tacit.papers.joint.fliphat",
    "JointGLMRare": "tacit.papers.joint.glm_rare",
    "JointReweighted": "tacit.papers.joint.reweighted",
    "ShariffLinUCB": "tacit.papers.joint.shariff",
    "JointSquareCB": "tacit.papers.joint.square_cb",
}
SHUFFLE = {
    "DistributedElimination": "tacit.papers.shuffle.distributed",
    "ShuffleGLM": "tacit.papers.shuffle.glm",
    "ShuffleLinUCB": "tacit.papers.shuffle.lin_ucb",
    "ShuffleSBLB": "tacit.papers.shuffle.sblb",
}
LOCAL = {
    "LocalLinUCB": "tacit.papers.local.lin_ucb",
    "LocalOnlineUCB": "tacit.papers.local.online",
    "LocalAnytimeUCB": "tacit.papers.local.online",
    "LocalCombiner": "tacit.papers.local.combiner",
    "LocalGLM": "tacit.papers.local.glm",
    "LocalReweighted": "tacit.papers.local.reweighted",
    "LocalSquareCB": "tacit.papers.local.square_cb",
}
REFERENCES = {
    "GLMUCB": "tacit.papers.references.glm_ucb",
    "GLOC": "tacit.papers.references.gloc",
    "RSGLinUCB": "tacit.papers.references.rs_glin_ucb",
    "BGLinCB": "tacit.papers.references.b_glin_cb",
    "ECOLog": "tacit.papers.references.ecolog",
    "LogisticTS": "tacit.papers.references.logistic_ts",
}
ACRONYMS = {
    "AdaCGOPE": "adac-gope",
    "AdaCOFUL": "adac-oful",
    "AdaCUCB": "adac-ucb",
    "GLMUCB": "glm-ucb",
    "RSGLinUCB": "rs-glin-ucb",
    "BGLinCB": "b-glin-cb",
    "ECOLog": "ecolog",
}
REPRODUCTIONS = {
    "shariff-figure1": ("tacit.papers.reproductions.shariff_figure1", "reproduce"),
    "shariff-d1": ("tacit.papers.reproductions.shariff_d1", "reproduce"),
    "shariff-d2": ("tacit.papers.reproductions.shariff_d2", "reproduce"),
    "shariff-d3": ("tacit.papers.reproductions.shariff_d3", "reproduce"),
    "table2": ("tacit.papers.reproductions.table2", "reproduce"),
    "figure1-logistic": ("tacit.papers.reproductions.figure1", "logistic"),
    "figure1-probit": ("tacit.papers.reproductions.figure1", "probit"),
    "ablations": ("tacit.papers.reproductions.ablations", "reproduce"),
    "optimiser": ("tacit.papers.reproductions.optimiser", "reproduce"),
    "ldp-figure1": ("tacit.papers.reproductions.ldp_figure1", "reproduce"),
    "ldp-table1": ("tacit.papers.reproductions.ldp_table1", "reproduce"),
    "local-suite": ("tacit.papers.reproductions.local_suite", "reproduce"),
    "public": ("tacit.papers.reproductions.public", "reproduce"),
    "oracles": ("tacit.papers.reproductions.oracles", "reproduce"),
    "shuffle": ("tacit.papers.reproductions.shuffle", "reproduce"),
    "reweighted": ("tacit.papers.reproductions.reweighted", "reproduce"),
    "errata": ("tacit.papers.reproductions.errata", "reproduce"),
}
BOUNDS = "tacit.papers.bounds.drawn"
ATTACKS = "tacit.papers.attacks"
HOMES = JOINT | SHUFFLE | LOCAL | REFERENCES | {"Anytime": "tacit.papers.anytime"}
__all__ = sorted(HOMES)
if not TYPE_CHECKING:  # which would take any name for one
    __getattr__ = registry.lazily(__name__, HOMES)
