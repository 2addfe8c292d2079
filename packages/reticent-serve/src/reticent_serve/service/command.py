"""What `reticent serve` and the commands beside it do."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec

from reticent import checks
from reticent_serve.holders import retirement
from reticent_serve.service import config as configs
from reticent_serve.service import demo, keys
from reticent_serve.service.server import serve


def run(path: Path | None, *, port: int | None, say: Callable[[str], None]) -> None:
    """Serves that configuration; None is the demonstration."""
    config = demo.config(Path.cwd()) if path is None else configs.read(path)
    if port is not None:
        config = msgspec.structs.replace(config, server=msgspec.structs.replace(config.server, port=port))
    say("Compiling and opening: " + ", ".join(config.bandits))

    def started(address: str) -> None:
        say(f"Dashboard: {address}/dashboard")
        say(f"Serving on {address}")
        if path is None:
            demo.populate(address)

    serve(config, started)


def retire(path: Path, name: str) -> str:
    """Ends that bandit."""
    bandits = configs.read(path).bandits
    checks.name("a bandit of this configuration", name, bandits)
    setting = bandits[name]
    retirement.retire(setting.database, name=name, keys=setting.keys)
    return f"{name}: retired. Leave it in the configuration as long as its certificate is to be shown."


def erase(path: Path, name: str, person: str) -> str:
    """person: a line of text."""
    bandits = configs.read(path).bandits
    checks.name("a bandit of this configuration", name, bandits)
    setting = bandits[name]
    return retirement.erase_at(setting.database, person.strip(), name=name, keys=setting.keys)


def new_key(name: str, role: str) -> tuple[str, str]:
    """A key, and the lines for the configuration, which do not hold it."""
    checks.one_of((*configs.ROLES, "shuffler"), role=role)
    key, digest = keys.make()
    quoted = json.dumps(name)
    return key, f'\n[[keys]]\nname = {quoted}\nrole = "{role}"\nhash = "{digest}"\n'
