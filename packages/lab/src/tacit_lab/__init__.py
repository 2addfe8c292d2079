"""What tests tacit's bandits: audits, random worlds, real data, evaluation of logs, sweeps, figures, the arena.

The command line of tacit finds it by an entry point, as it finds a stranger's package (tacit.registry)."""

ENVIRONMENTS = {  # what the command line calls it -> (module, name in it)
    name.replace("_", "-"): (f"tacit_lab.environments.{home}", name)
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
FETCHED = tuple(name for name, (home, _) in ENVIRONMENTS.items() if ".real." in home)  # data of `tacit fetch`
COMMANDS = {
    "arena": ("tacit_lab.cli.arena", "arena_command", "Research"),
    "audit": ("tacit_lab.cli.auditing", "audit_command", "Check"),
    "bench": ("tacit_lab.cli.benching", "bench_command", "Research"),
    "evaluate": ("tacit_lab.cli.evaluate", "evaluate_command", "Learn"),
    "fetch": ("tacit_lab.cli.fetching", "fetch_command", "Research"),
    "sweep": ("tacit_lab.cli.sweeping", "sweep_command", "Research"),
}
ATTACKS = "tacit_lab.audit.attacks"
APART = ("arena", "audit", "cli", *(f"experiments/{name}.py" for name in ("figure", "rows")))
