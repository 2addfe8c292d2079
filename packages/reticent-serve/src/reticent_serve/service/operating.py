"""What `reticent backup`, `restore`, `move` and `end-experiment` do with the bandits of a configuration."""

import contextlib
from collections.abc import Callable
from pathlib import Path

from reticent import checks
from reticent.errors import Retired
from reticent_serve.holders import backups, moving, opening, restoring
from reticent_serve.holders.stored import Stored
from reticent_serve.service import config as configs
from reticent_serve.service.config import BanditSetting
from reticent_serve.service.served import OPTIONS


def chosen(path: Path, name: str | None) -> dict[str, BanditSetting]:
    """The bandit of that name, or all of the configuration."""
    bandits = configs.read(path).bandits
    if name is None:
        return bandits
    checks.name("a bandit of this configuration", name, bandits)
    return {name: bandits[name]}


def backup(path: Path, name: str | None, file: Path) -> str:
    bandits = chosen(path, name)
    made = backups.Backup(file)
    try:
        for one, setting in bandits.items():
            made.add(setting.database, name=one, keys=setting.keys)
        made.finish()
    except BaseException:
        made.abandon()
        raise
    return f"{', '.join(bandits)}: in {file}. It holds no keys; keep the configuration with it."


def restore(path: Path, name: str, file: Path, *, say: Callable[[str], None]) -> Callable[[], str]:
    """Says what it costs. What is returned does it, and says what the bandit is then."""
    (setting,) = chosen(path, name).values()
    algorithm = configs.build(setting, name)
    found = restoring.cost(algorithm, file, setting.database, name=name, keys=setting.keys)
    lost = "its whole plan, since the folder of keys has no witness of it"
    before = ", ".join(
        f"{one.uid} ({lost if one.steps is None else f'{one.steps} releases'}"
        f"{', and its whole plan besides' if one.times > 1 else ''})"
        for one in found.predecessors
    )
    say(
        f"{name}: a new bandit of epsilon {found.alone:.4g} at delta {found.delta:g}, in the place of {before}. A "
        f"person who was in all of them has epsilon {found.together:.4g} together."
    )

    def work() -> str:
        uid = restoring.restore(
            algorithm, file, setting.database, name=name, keys=setting.keys, pending=setting.pending
        )
        return f"{name}: bandit {uid}. Its certificate says what that costs."

    return work


def move(path: Path, name: str | None, to: str) -> str:
    bandits = chosen(path, name)
    if "://" not in to and len(bandits) > 1:
        raise ValueError("Expected BANDIT, since an SQLite file has one, got a configuration of several.")

    def moved(one: str, setting: BanditSetting) -> str:
        keys = moving.move(setting.database, to, name=one, keys=setting.keys)
        return (
            f"{one} is in {opening.place_of(to)} now. In [bandits.{one}] of {path}, write as `database` what you "
            f'gave as --to, and keys = "{keys}". Then start the workers.'
        )

    return _each(bandits, name, moved)


def end_experiment(path: Path, name: str) -> str:
    (setting,) = chosen(path, name).values()
    options = {field: getattr(setting, field) for field in OPTIONS}
    stored = Stored(configs.build(setting, name), setting.database, name=name, background=False, **options)
    with contextlib.closing(stored):
        stored.end_experiment()
    return f"{name}: its holdout has ended. What it said by then stands."


def _each(bandits: dict[str, BanditSetting], name: str | None, work: Callable[[str, BanditSetting], str]) -> str:
    """What is said of each. One that was retired is passed over, unless it is the one that was named."""
    said = []
    for one, setting in bandits.items():
        try:
            said.append(work(one, setting))
        except Retired:
            if name is not None:
                raise
            said.append(f"{one}: it was retired, and stays as it is.")
    return "\n".join(said)
