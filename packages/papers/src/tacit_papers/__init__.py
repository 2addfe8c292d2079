"""Published algorithms, beside tacit's own: each as its paper has it, repaired where its claim is false, and said so.

Also private regression, the papers' regret bounds, their tables and figures (`tacit reproduce`) and attacks on them.
Nothing outside of this package imports it: the command line finds it by an entry point, as it finds a stranger's
(tacit.registry). Names are loaded when they are first used."""

from typing import TYPE_CHECKING

from tacit import registry

if TYPE_CHECKING:
    from tacit_papers.anytime import Anytime as Anytime
    from tacit_papers.joint.adac_gope import AdaCGOPE as AdaCGOPE
    from tacit_papers.joint.adac_oful import AdaCOFUL as AdaCOFUL
    from tacit_papers.joint.adac_ucb import AdaCUCB as AdaCUCB
    from tacit_papers.joint.fliphat import Fliphat as Fliphat
    from tacit_papers.joint.glm_rare import JointGLMRare as JointGLMRare
    from tacit_papers.joint.glm_ucb import JointGLMUCB as JointGLMUCB
    from tacit_papers.joint.reweighted import JointReweighted as JointReweighted
    from tacit_papers.joint.shariff import ShariffLinUCB as ShariffLinUCB
    from tacit_papers.joint.square_cb import JointSquareCB as JointSquareCB
    from tacit_papers.local.combiner import LocalCombiner as LocalCombiner
    from tacit_papers.local.glm import LocalGLM as LocalGLM
    from tacit_papers.local.lin_ucb import LocalLinUCB as LocalLinUCB
    from tacit_papers.local.online import LocalAnytimeUCB as LocalAnytimeUCB
    from tacit_papers.local.online import LocalOnlineUCB as LocalOnlineUCB
    from tacit_papers.local.reweighted import LocalReweighted as LocalReweighted
    from tacit_papers.local.square_cb import LocalSquareCB as LocalSquareCB
    from tacit_papers.references.b_glin_cb import BGLinCB as BGLinCB
    from tacit_papers.references.ecolog import ECOLog as ECOLog
    from tacit_papers.references.glm_ucb import GLMUCB as GLMUCB
    from tacit_papers.references.gloc import GLOC as GLOC
    from tacit_papers.references.logistic_ts import LogisticTS as LogisticTS
    from tacit_papers.references.mle_ucb import MLEUCB as MLEUCB
    from tacit_papers.references.rs_glin_ucb import RSGLinUCB as RSGLinUCB
    from tacit_papers.shuffle.distributed import DistributedElimination as DistributedElimination
    from tacit_papers.shuffle.glm import ShuffleGLM as ShuffleGLM
    from tacit_papers.shuffle.lin_ucb import ShuffleLinUCB as ShuffleLinUCB
    from tacit_papers.shuffle.sblb import ShuffleSBLB as ShuffleSBLB
JOINT = {
    "AdaCGOPE": "tacit_papers.joint.adac_gope",
    "AdaCOFUL": "tacit_papers.joint.adac_oful",
    "AdaCUCB": "tacit_papers.joint.adac_ucb",
    "Fliphat": "tacit_papers.joint.fliphat",
    "JointGLMRare": "tacit_papers.joint.glm_rare",
    "JointGLMUCB": "tacit_papers.joint.glm_ucb",
    "JointReweighted": "tacit_papers.joint.reweighted",
    "ShariffLinUCB": "tacit_papers.joint.shariff",
    "JointSquareCB": "tacit_papers.joint.square_cb",
}
SHUFFLE = {
    "DistributedElimination": "tacit_papers.shuffle.distributed",
    "ShuffleGLM": "tacit_papers.shuffle.glm",
    "ShuffleLinUCB": "tacit_papers.shuffle.lin_ucb",
    "ShuffleSBLB": "tacit_papers.shuffle.sblb",
}
LOCAL = {
    "LocalLinUCB": "tacit_papers.local.lin_ucb",
    "LocalOnlineUCB": "tacit_papers.local.online",
    "LocalAnytimeUCB": "tacit_papers.local.online",
    "LocalCombiner": "tacit_papers.local.combiner",
    "LocalGLM": "tacit_papers.local.glm",
    "LocalReweighted": "tacit_papers.local.reweighted",
    "LocalSquareCB": "tacit_papers.local.square_cb",
}
REFERENCES = {
    "MLEUCB": "tacit_papers.references.mle_ucb",
    "GLMUCB": "tacit_papers.references.glm_ucb",
    "GLOC": "tacit_papers.references.gloc",
    "RSGLinUCB": "tacit_papers.references.rs_glin_ucb",
    "BGLinCB": "tacit_papers.references.b_glin_cb",
    "ECOLog": "tacit_papers.references.ecolog",
    "LogisticTS": "tacit_papers.references.logistic_ts",
}
ACRONYMS = {
    "AdaCGOPE": "adac-gope",
    "AdaCOFUL": "adac-oful",
    "AdaCUCB": "adac-ucb",
    "GLMUCB": "glm-ucb",
    "MLEUCB": "mle-ucb",
    "JointGLMUCB": "joint-glm-ucb",
    "RSGLinUCB": "rs-glin-ucb",
    "BGLinCB": "b-glin-cb",
    "ECOLog": "ecolog",
}
REPRODUCTIONS = {
    "shariff-figure1": ("tacit_papers.reproductions.shariff_figure1", "reproduce"),
    "shariff-d1": ("tacit_papers.reproductions.shariff_d1", "reproduce"),
    "shariff-d2": ("tacit_papers.reproductions.shariff_d2", "reproduce"),
    "shariff-d3": ("tacit_papers.reproductions.shariff_d3", "reproduce"),
    "table2": ("tacit_papers.reproductions.table2", "reproduce"),
    "figure1-logistic": ("tacit_papers.reproductions.figure1", "logistic"),
    "figure1-probit": ("tacit_papers.reproductions.figure1", "probit"),
    "ablations": ("tacit_papers.reproductions.ablations", "reproduce"),
    "optimiser": ("tacit_papers.reproductions.optimiser", "reproduce"),
    "ldp-figure1": ("tacit_papers.reproductions.ldp_figure1", "reproduce"),
    "ldp-table1": ("tacit_papers.reproductions.ldp_table1", "reproduce"),
    "local-suite": ("tacit_papers.reproductions.local_suite", "reproduce"),
    "oracles": ("tacit_papers.reproductions.oracles", "reproduce"),
    "shuffle": ("tacit_papers.reproductions.shuffle", "reproduce"),
    "reweighted": ("tacit_papers.reproductions.reweighted", "reproduce"),
    "errata": ("tacit_papers.reproductions.errata", "reproduce"),
}
COMMANDS = {
    "bounds": ("tacit_papers.commands", "bounds_command", "Research"),
    "reproduce": ("tacit_papers.commands", "reproduce_command", "Research"),
}
ATTACKS = "tacit_papers.attacks"
BOARDS = {
    "tacit billboard of rounds": "tacit_papers.shuffle.round_boards",
    "tacit billboard of bits": "tacit_papers.shuffle.bit_boards",
}
APART = ("attacks", "bounds", "commands.py", "outcome.py", "reproductions", "__init__.py")
HOMES = JOINT | SHUFFLE | LOCAL | REFERENCES | {"Anytime": "tacit_papers.anytime"}
__all__ = sorted(HOMES)
if not TYPE_CHECKING:  # which would take any name for one
    __getattr__ = registry.lazily(__name__, HOMES)
