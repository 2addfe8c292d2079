"""One file per algorithm, reading like its pseudo-code. Names are loaded when they are first used."""

from typing import TYPE_CHECKING

from tacit import registry

if TYPE_CHECKING:
    from tacit.bandits.embedded import Embedded as Embedded
    from tacit.bandits.local.irls import LocalIRLS as LocalIRLS
    from tacit.bandits.references.lin_ucb import LinUCB as LinUCB
    from tacit.bandits.references.uniform import Uniform as Uniform
    from tacit.bandits.server import Server as Server
    from tacit.bandits.shuffle.newton import ShuffleNewton as ShuffleNewton

HOMES = {name: home for name, home in registry.HOMES.items() if home.startswith("tacit.bandits.")}
if not TYPE_CHECKING:  # which would take any name for one
    __getattr__ = registry.lazily(__name__, HOMES)
