"""Published algorithms, beside reticent's own: each as its paper has it, repaired where its claim is false, and said
so.

Also private regression, the papers' regret bounds, their tables and figures (`reticent reproduce`) and attacks on them.
Nothing outside of this package imports it: the command line finds it by an entry point, as it finds a stranger's
(reticent.registry). Names are loaded when they are first used."""

from typing import TYPE_CHECKING

from reticent import registry

if TYPE_CHECKING:
    from reticent_papers.anytime import Anytime as Anytime
    from reticent_papers.joint.adac_gope import AdaCGOPE as AdaCGOPE
    from reticent_papers.joint.adac_oful import AdaCOFUL as AdaCOFUL
    from reticent_papers.joint.adac_ucb import AdaCUCB as AdaCUCB
    from reticent_papers.joint.fliphat import Fliphat as Fliphat
    from reticent_papers.joint.glm_rare import JointGLMRare as JointGLMRare
    from reticent_papers.joint.glm_ucb import JointGLMUCB as JointGLMUCB
    from reticent_papers.joint.reweighted import JointReweighted as JointReweighted
    from reticent_papers.joint.shariff import ShariffLinUCB as ShariffLinUCB
    from reticent_papers.joint.square_cb import JointSquareCB as JointSquareCB
    from reticent_papers.local.combiner import LocalCombiner as LocalCombiner
    from reticent_papers.local.glm import LocalGLM as LocalGLM
    from reticent_papers.local.lin_ucb import LocalLinUCB as LocalLinUCB
    from reticent_papers.local.online import LocalAnytimeUCB as LocalAnytimeUCB
    from reticent_papers.local.online import LocalOnlineUCB as LocalOnlineUCB
    from reticent_papers.local.reweighted import LocalReweighted as LocalReweighted
    from reticent_papers.local.square_cb import LocalSquareCB as LocalSquareCB
    from reticent_papers.references.b_glin_cb import BGLinCB as BGLinCB
    from reticent_papers.references.ecolog import ECOLog as ECOLog
    from reticent_papers.references.glm_ucb import GLMUCB as GLMUCB
    from reticent_papers.references.gloc import GLOC as GLOC
    from reticent_papers.references.logistic_ts import LogisticTS as LogisticTS
    from reticent_papers.references.mle_ucb import MLEUCB as MLEUCB
    from reticent_papers.references.rs_glin_ucb import RSGLinUCB as RSGLinUCB
    from reticent_papers.shuffle.distributed import DistributedElimination as DistributedElimination
    from reticent_papers.shuffle.glm import ShuffleGLM as ShuffleGLM
    from reticent_papers.shuffle.lin_ucb import ShuffleLinUCB as ShuffleLinUCB
    from reticent_papers.shuffle.sblb import ShuffleSBLB as ShuffleSBLB
JOINT = {
    "AdaCGOPE": "reticent_papers.joint.adac_gope",
    "AdaCOFUL": "reticent_papers.joint.adac_oful",
    "AdaCUCB": "reticent_papers.joint.adac_ucb",
    "Fliphat": "reticent_papers.joint.fliphat",
    "JointGLMRare": "reticent_papers.joint.glm_rare",
    "JointGLMUCB": "reticent_papers.joint.glm_ucb",
    "JointReweighted": "reticent_papers.joint.reweighted",
    "ShariffLinUCB": "reticent_papers.joint.shariff",
    "JointSquareCB": "reticent_papers.joint.square_cb",
}
SHUFFLE = {
    "DistributedElimination": "reticent_papers.shuffle.distributed",
    "ShuffleGLM": "reticent_papers.shuffle.glm",
    "ShuffleLinUCB": "reticent_papers.shuffle.lin_ucb",
    "ShuffleSBLB": "reticent_papers.shuffle.sblb",
}
LOCAL = {
    "LocalLinUCB": "reticent_papers.local.lin_ucb",
    "LocalOnlineUCB": "reticent_papers.local.online",
    "LocalAnytimeUCB": "reticent_papers.local.online",
    "LocalCombiner": "reticent_papers.local.combiner",
    "LocalGLM": "reticent_papers.local.glm",
    "LocalReweighted": "reticent_papers.local.reweighted",
    "LocalSquareCB": "reticent_papers.local.square_cb",
}
REFERENCES = {
    "MLEUCB": "reticent_papers.references.mle_ucb",
    "GLMUCB": "reticent_papers.references.glm_ucb",
    "GLOC": "reticent_papers.references.gloc",
    "RSGLinUCB": "reticent_papers.references.rs_glin_ucb",
    "BGLinCB": "reticent_papers.references.b_glin_cb",
    "ECOLog": "reticent_papers.references.ecolog",
    "LogisticTS": "reticent_papers.references.logistic_ts",
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
    "shariff-figure1": ("reticent_papers.reproductions.shariff_figure1", "reproduce"),
    "shariff-d1": ("reticent_papers.reproductions.shariff_d1", "reproduce"),
    "shariff-d2": ("reticent_papers.reproductions.shariff_d2", "reproduce"),
    "shariff-d3": ("reticent_papers.reproductions.shariff_d3", "reproduce"),
    "table2": ("reticent_papers.reproductions.table2", "reproduce"),
    "figure1-logistic": ("reticent_papers.reproductions.figure1", "logistic"),
    "figure1-probit": ("reticent_papers.reproductions.figure1", "probit"),
    "ablations": ("reticent_papers.reproductions.ablations", "reproduce"),
    "optimiser": ("reticent_papers.reproductions.optimiser", "reproduce"),
    "ldp-figure1": ("reticent_papers.reproductions.ldp_figure1", "reproduce"),
    "ldp-table1": ("reticent_papers.reproductions.ldp_table1", "reproduce"),
    "local-suite": ("reticent_papers.reproductions.local_suite", "reproduce"),
    "oracles": ("reticent_papers.reproductions.oracles", "reproduce"),
    "shuffle": ("reticent_papers.reproductions.shuffle", "reproduce"),
    "reweighted": ("reticent_papers.reproductions.reweighted", "reproduce"),
    "errata": ("reticent_papers.reproductions.errata", "reproduce"),
}
COMMANDS = {
    "bounds": ("reticent_papers.commands", "bounds_command", "Research"),
    "reproduce": ("reticent_papers.commands", "reproduce_command", "Research"),
}
ATTACKS = "reticent_papers.attacks"
BOARDS = {
    "reticent billboard of rounds": "reticent_papers.shuffle.round_boards",
    "reticent billboard of bits": "reticent_papers.shuffle.bit_boards",
}
APART = ("attacks", "bounds", "commands.py", "outcome.py", "reproductions", "__init__.py")
HOMES = JOINT | SHUFFLE | LOCAL | REFERENCES | {"Anytime": "reticent_papers.anytime"}
__all__ = sorted(HOMES)
if not TYPE_CHECKING:  # which would take any name for one
    __getattr__ = registry.lazily(__name__, HOMES)
