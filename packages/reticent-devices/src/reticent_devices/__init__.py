"""People's data stay on their devices: the shuffle and local models, their servers, and what lies between.

The command line of reticent finds it by an entry point (reticent.registry). Names are loaded when they are first used,
so that a device can import its own small part alone."""

from typing import TYPE_CHECKING

from reticent import registry

if TYPE_CHECKING:
    from reticent_devices.bandits.embedded import Embedded as Embedded
    from reticent_devices.bandits.local.irls import LocalIRLS as LocalIRLS
    from reticent_devices.bandits.server import Server as Server
    from reticent_devices.bandits.shuffle.newton import ShuffleNewton as ShuffleNewton
    from reticent_devices.roles.shuffler import Shuffler as Shuffler

SHUFFLE = {"ShuffleNewton": "reticent_devices.bandits.shuffle.newton"}
LOCAL = {"LocalIRLS": "reticent_devices.bandits.local.irls"}
HOMES = (
    SHUFFLE
    | LOCAL
    | {
        "Embedded": "reticent_devices.bandits.embedded",
        "Server": "reticent_devices.bandits.server",
        "Shuffler": "reticent_devices.roles.shuffler",
    }
)
ROLES = dict.fromkeys(("analyzer", "shuffler", "local"), ("reticent_devices.servers.command", "run"))
__all__ = sorted(HOMES)
if not TYPE_CHECKING:  # which would take any name for one
    __getattr__ = registry.lazily(__name__, HOMES)
