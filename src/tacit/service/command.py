"""What `tacit serve` and the commands beside it do."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec

from tacit import checks
from tacit.holders import erasure, recovery, retirement
from tacit.service import config as configs
from tacit.service import demo, keys
from tacit.service.server import serve


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


def recover(path: Path, name: str, *, within_budget: bool, say: Callable[[str], None]) -> Callable[[], str]:
    """Says what a recovery of that bandit costs. What is returned does it, and says what the bandit is then."""
    bandits = configs.read(path).bandits
    checks.name("a bandit of this configuration", name, bandits)
    setting = bandits[name]
    bandit, where = configs.build(setting, name), setting.durable
    say(cost_text(name, recovery.cost(bandit, where, name=name, keys=setting.keys), within_budget))

    def work() -> str:
        number = recovery.recover(bandit, where, name=name, keys=setting.keys, within_budget=within_budget)
        return f"{name}: incarnation {number}. Its certificate says what that costs."

    return work


def cost_text(name: str, found: recovery.Cost, within_budget: bool) -> str:
    after = found.within_budget if within_budget else found.after
    said = f"{name}: epsilon is {found.now:.4g} at delta {found.delta:g}, and {after:.4g} after this recovery."
    if found.after == found.within_budget:
        return said
    if within_budget:
        return f"{said} Nobody who is named by person= will teach any more; without --within-budget: {found.after:.4g}."
    return (
        f"{said} A restore may have lost counts of a person's rounds, which max_rounds_per_person limits. With "
        f"--within-budget: {found.within_budget:.4g}, and nobody who is named by person= teaches any more."
    )


def retire(path: Path, name: str) -> str:
    """Ends that bandit."""
    bandits = configs.read(path).bandits
    checks.name("a bandit of this configuration", name, bandits)
    setting = bandits[name]
    retirement.retire(setting.durable, name=name, keys=setting.keys)
    return f"{name}: retired. Leave it in the configuration as long as its certificate is to be shown."


def erase(path: Path, name: str, person: str) -> str:
    """person: a line of text."""
    bandits = configs.read(path).bandits
    checks.name("a bandit of this configuration", name, bandits)
    setting = bandits[name]
    return erasure.erase_at(setting.durable, person.strip(), name=name, keys=setting.keys)


def new_key(name: str, role: str) -> tuple[str, str]:
    """A key, and the lines for the configuration, which do not hold it."""
    checks.one_of((*configs.ROLES, "shuffler"), role=role)
    key, digest = keys.make()
    quoted = json.dumps(name)
    return key, f'\n[[keys]]\nname = {quoted}\nrole = "{role}"\nhash = "{digest}"\n'
