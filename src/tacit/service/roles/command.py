"""What `tacit serve analyzer`, `shuffler` and `local` do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from tacit.process import stopping_at_once
from tacit.service import server
from tacit.service.config import ServerSetting
from tacit.service.roles import settings


def run(role: str, path: Path, *, port: int | None, say: Callable[[str], None]) -> None:
    """Serves that role as its configuration says, until SIGTERM."""
    server.needed()
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
    from tacit.service.roles.analyzer import AnalyzerRole
    from tacit.service.roles.app import RoleApplication
    from tacit.service.roles.local import LocalRole
    from tacit.service.roles.shuffler import ShufflerRole

    own, keys = getattr(config, role), getattr(config, "keys", ())
    if role == "shuffler":
        shuffler = ShufflerRole(own, config.server.waiting)
        return RoleApplication(shuffler, config.server, keys, {"/key": shuffler.key}, name=own.name)
    made: Any = settings.build(role, own)
    made.warm_up()
    if role == "analyzer":
        return RoleApplication(AnalyzerRole(made, own.database), config.server, keys, name=own.name)
    return RoleApplication(LocalRole(made, own.database, config.server.waiting), config.server, name=own.name)
