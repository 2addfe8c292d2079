"""Bandits on SQLite or PostgreSQL, behind HTTP: for whoever runs them and whoever asks them.

The command line of reticent finds it by an entry point (reticent.registry). Names are loaded when they are first
used."""

from typing import TYPE_CHECKING

from reticent import registry

if TYPE_CHECKING:
    from reticent_serve.holders.moving import move as move
    from reticent_serve.holders.requests import StoredChoice as StoredChoice
    from reticent_serve.holders.restoring import restore as restore
    from reticent_serve.holders.retirement import retire as retire
    from reticent_serve.holders.stored import Stored as Stored
    from reticent_serve.trials.trial import trial as trial

HOMES = {
    "Stored": "reticent_serve.holders.stored",
    "StoredChoice": "reticent_serve.holders.requests",
    "move": "reticent_serve.holders.moving",
    "restore": "reticent_serve.holders.restoring",
    "retire": "reticent_serve.holders.retirement",
    "trial": "reticent_serve.trials.trial",
}
COMMANDS = {
    name: ("reticent_serve.cli.operating", f"{name.replace('-', '_')}_command", group)
    for group, names in {
        "Serve": ("serve", "key", "backup", "restore", "move", "erase", "end-experiment", "retire"),
        "Check": ("check",),
    }.items()
    for name in names
} | {"plan": ("reticent_serve.cli.plan", "plan_command", "Learn")}
__all__ = sorted(HOMES)
if not TYPE_CHECKING:  # which would take any name for one
    __getattr__ = registry.lazily(__name__, HOMES)
