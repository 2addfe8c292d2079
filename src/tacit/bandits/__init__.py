"""One file per algorithm, reading like its pseudo-code. Names are loaded when they are first used."""

from typing import TYPE_CHECKING, Any

from tacit import registry

if TYPE_CHECKING:
    from tacit.bandits.anytime import Anytime as Anytime
    from tacit.bandits.base import Bandit as Bandit
    from tacit.bandits.choices import Choice as Choice
    from tacit.bandits.choices import Choices as Choices
    from tacit.bandits.embedded import Embedded as Embedded
    from tacit.bandits.joint.glm import JointGLM as JointGLM
    from tacit.bandits.joint.glm_rare import JointGLMRare as JointGLMRare
    from tacit.bandits.joint.lin_ucb import JointLinUCB as JointLinUCB
    from tacit.bandits.joint.reweighted import JointReweighted as JointReweighted
    from tacit.bandits.joint.square_cb import JointSquareCB as JointSquareCB
    from tacit.bandits.local.combiner import LocalCombiner as LocalCombiner
    from tacit.bandits.local.glm import LocalGLM as LocalGLM
    from tacit.bandits.local.irls import LocalIRLS as LocalIRLS
    from tacit.bandits.local.lin_ucb import LocalLinUCB as LocalLinUCB
    from tacit.bandits.local.online import LocalAnytimeUCB as LocalAnytimeUCB
    from tacit.bandits.local.online import LocalOnlineUCB as LocalOnlineUCB
    from tacit.bandits.local.reweighted import LocalReweighted as LocalReweighted
    from tacit.bandits.local.square_cb import LocalSquareCB as LocalSquareCB
    from tacit.bandits.references.b_glin_cb import BGLinCB as BGLinCB
    from tacit.bandits.references.ecolog import ECOLog as ECOLog
    from tacit.bandits.references.glm_ucb import GLMUCB as GLMUCB
    from tacit.bandits.references.gloc import GLOC as GLOC
    from tacit.bandits.references.lin_ucb import LinUCB as LinUCB
    from tacit.bandits.references.logistic_ts import LogisticTS as LogisticTS
    from tacit.bandits.references.mle_ucb import MLEUCB as MLEUCB
    from tacit.bandits.references.rs_glin_ucb import RSGLinUCB as RSGLinUCB
    from tacit.bandits.references.uniform import Uniform as Uniform
    from tacit.bandits.server import Server as Server
    from tacit.bandits.shuffle.glm import ShuffleGLM as ShuffleGLM
    from tacit.bandits.shuffle.lin_ucb import ShuffleLinUCB as ShuffleLinUCB
    from tacit.bandits.shuffle.newton import ShuffleNewton as ShuffleNewton
    from tacit.bandits.stored.asks import StoredChoice as StoredChoice
    from tacit.bandits.stored.face import Stored as Stored
    from tacit.bandits.stored.recovery import recover as recover
    from tacit.bandits.stored.retirement import retire as retire


def __getattr__(name: str) -> Any:
    home = registry.HOMES.get(name, "")
    if home.startswith("tacit.bandits."):
        return registry.load(home, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
