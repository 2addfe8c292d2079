"""One file per algorithm, reading like its pseudo-code. Names are loaded when they are first used."""

from typing import TYPE_CHECKING, Any

from tacit import registry

if TYPE_CHECKING:
    from tacit.bandits.base import Bandit as Bandit
    from tacit.bandits.choices import Choice as Choice
    from tacit.bandits.choices import Choices as Choices
    from tacit.bandits.embedded import Embedded as Embedded
    from tacit.bandits.joint.glm import JointGLM as JointGLM
    from tacit.bandits.joint.lin_ucb import JointLinUCB as JointLinUCB
    from tacit.bandits.local.irls import LocalIRLS as LocalIRLS
    from tacit.bandits.references.lin_ucb import LinUCB as LinUCB
    from tacit.bandits.references.mle_ucb import MLEUCB as MLEUCB
    from tacit.bandits.references.uniform import Uniform as Uniform
    from tacit.bandits.server import Server as Server
    from tacit.bandits.shuffle.newton import ShuffleNewton as ShuffleNewton
    from tacit.bandits.stored.asks import StoredChoice as StoredChoice
    from tacit.bandits.stored.face import Stored as Stored
    from tacit.bandits.stored.recovery import recover as recover
    from tacit.bandits.stored.retirement import retire as retire
    from tacit.papers.anytime import Anytime as Anytime
    from tacit.papers.joint.glm_rare import JointGLMRare as JointGLMRare
    from tacit.papers.joint.reweighted import JointReweighted as JointReweighted
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
    from tacit.papers.shuffle.glm import ShuffleGLM as ShuffleGLM
    from tacit.papers.shuffle.lin_ucb import ShuffleLinUCB as ShuffleLinUCB


def __getattr__(name: str) -> Any:
    home = registry.HOMES.get(name, "")
    if home.startswith("tacit.bandits."):
        return registry.load(home, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
