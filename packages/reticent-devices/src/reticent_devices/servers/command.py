"""What `reticent serve analyzer`, `shuffler` and `local` do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from reticent.process import stopping_at_once
from reticent_devices.servers import settings
from reticent_serve.service import server
from reticent_serve.service.config import ServerSetting


def run(role: str, path: Path, *, port: int | None, say: Callable[[str], None]) -> None:
    """Serves that role as its configuration says, until SIGTERM."""
    config: Any = settings.read(role, path)
    setting: ServerSetting = config.server
    if port is not None:
        setting = msgspec.structs.replace(setting, port=port)
    say(f"Compiling and opening: {role}")

    def started(address: str) -> None:
        say(f"Dashboard: {address}/dashboard")
        say(f"Serving on {address}")

    with stopping_at_once():
        made = application(role, config)
    server.run(made, setting, started)


def application(role: str, config: Any) -> Any:
    """Not open yet; all that needs compiling is compiled."""
    from reticent_devices.servers.analyzer import AnalyzerRole
    from reticent_devices.servers.app import RoleApplication
    from reticent_devices.servers.local import LocalRole
    from reticent_devices.servers.shuffler import ShufflerRole

    own, keys = getattr(config, role), getattr(config, "keys", ())
    if role == "shuffler":
        shuffler = ShufflerRole(own, config.server.waiting)
        return RoleApplication(shuffler, config.server, keys, {"/key": shuffler.key}, name=own.name)
    made: Any = settings.build(role, own)
    made.warm_up()
    if role == "analyzer":
        return RoleApplication(AnalyzerRole(made, own.database), config.server, keys, name=own.name)
    return RoleApplication(LocalRole(made, own.database, config.server.waiting), config.server, name=own.name)
