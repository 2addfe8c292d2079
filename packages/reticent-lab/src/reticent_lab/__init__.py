"""What tests reticent's bandits: audits, random worlds, real data, evaluation of logs, sweeps, figures, the arena.

The command line of reticent finds it by an entry point, as it finds a stranger's package (reticent.registry)."""

ENVIRONMENTS = {  # what the command line calls it -> (module, name in it)
    name.replace("_", "-"): (f"reticent_lab.environments.{home}", name)
    for home, names in {
        "classification": ("breast_cancer", "digits"),
        "clicks": ("clicks",),
        "front_page": ("front_page",),
        "random": ("random",),
        "real.adult": ("adult",),
        "real.census": ("census",),
        "real.fashion": ("fashion",),
        "real.keel": ("letter", "optdigits", "texture"),
        "real.movielens": ("movielens",),
        "replay": ("replay",),
        "sparse": ("sparse",),
    }.items()
    for name in names
}
FETCHED = tuple(name for name, (home, _) in ENVIRONMENTS.items() if ".real." in home)  # data of `reticent fetch`
COMMANDS = {
    "arena": ("reticent_lab.cli.arena", "arena_command", "Research"),
    "audit": ("reticent_lab.cli.auditing", "audit_command", "Check"),
    "bench": ("reticent_lab.cli.benching", "bench_command", "Research"),
    "evaluate": ("reticent_lab.cli.evaluate", "evaluate_command", "Learn"),
    "fetch": ("reticent_lab.cli.fetching", "fetch_command", "Research"),
    "sweep": ("reticent_lab.cli.sweeping", "sweep_command", "Research"),
}
ATTACKS = "reticent_lab.audit.attacks"
APART = ("arena", "audit", "cli", *(f"experiments/{name}.py" for name in ("figure", "rows")))
