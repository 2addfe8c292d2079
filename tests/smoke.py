"""What somebody who has just installed reticent would try, with what that environment has: part of `make dist`.

python -I tests/smoke.py WHAT    # -I: the installed package, not this folder
"""

import importlib
import importlib.util
import pydoc
import re
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import reticent
from reticent import Bandit, Budget, JointGLM, Reward

WHAT = sys.argv[1]
LOG = "action,reward,propensity,x0\n0,1,.5,.3\n1,0,.5,.2\n0,0,.5,.1\n"
SERVED = """
[bandits.messages]
kind = "joint-glm"
budget = {epsilon = 1.0, delta = 1e-6, unit = {rounds = 3}}
reward = {window = "1 second"}
database = "messages.db"
[bandits.messages.features]
context = {device = {kind = "Category", values = ["desk", "phone"]}}
arms = "disjoint"
actions = ["welcome", "news"]
[bandits.tested]
kind = "joint-glm"
features = 2
budget = {epsilon = 1.0, delta = 1e-6}
reward = {window = "1 second", default = 0.0}
holdout = {policy = "uniform", share = 0.5}
database = "tested.db"
"""
SHORT = ["--env", "ball", "--horizon", "50", "--runs", "1"]


def run(*arguments: str, code: int = 0, command: str = "reticent", given: str = "") -> str:
    """What the command says, on both of its streams."""
    found = str(Path(sys.executable).with_name(command))
    done = subprocess.run([found, *arguments], input=given, capture_output=True, text=True, check=False)
    if done.returncode != code or "Traceback" in done.stderr:
        came = done.stderr.strip()[-2000:]
        sys.exit(f"{WHAT}: expected {command} {' '.join(arguments)} to end with {code}, got {came}.")
    return done.stdout + done.stderr


def everywhere(folder: Path) -> None:
    """A bandit that learns, is saved and loaded, and its certificate."""
    if reticent.__version__ not in run("--version") or metadata.version("reticent") != reticent.__version__:
        sys.exit(f"Expected version {reticent.__version__}, got {metadata.version('reticent')}.")
    bandit = Bandit(JointGLM(2, Budget(epsilon=1.0, delta=1e-6)))
    bandit.observe(bandit.choose({"tea": [0.9, 0.0], "coffee": [0.1, 0.8]}), 1.0)
    if not (bandit.privacy.private and abs(bandit.privacy.epsilon - 1.0) < 1e-6):
        sys.exit("Expected a private bandit with epsilon 1, got another claim.")
    bandit.save(folder / "bandit.json")
    if Bandit.load(folder / "bandit.json").choices != 1:
        sys.exit("Expected a bandit that goes on after its first choice, got another.")
    run("privacy", "joint-glm", "--epsilon", "1", "--delta", "1e-6")
    run("simulate", "uniform", *SHORT)


def names(package: str) -> None:
    """All names at once, and what `help` says of them."""
    space: dict[str, object] = {}
    exec(f"from {package} import *", space)
    module = importlib.import_module(package)
    if not set(getattr(module, "__all__", ())) <= space.keys() or package not in pydoc.render_doc(module):
        sys.exit(f"Expected all names of {package}, got fewer.")


def helps() -> None:
    """Every command's help: what packages add is there as well."""
    from typer.testing import CliRunner

    from reticent.cli import app

    for command in app.registered_commands:
        said = CliRunner().invoke(app, [str(command.name), "--help"])
        if said.exit_code != 0:
            sys.exit(f"Expected help of reticent {command.name}, got {said.exception!r}.")


def operated(folder: Path) -> None:
    """Each command of an operator, on two bandits that a server has served."""
    from reticent_serve.service.client import Client

    config, sample = folder / "served.toml", folder / "sample.jsonl"
    config.write_text(SERVED)
    sample.write_text('{"device": "phone"}\n{"device": "desk"}\n')
    served = str(config)
    run("warm-up", "joint-glm:features=2")
    run("key", "app")
    run("check", served, str(sample), "messages")
    run("plan", "--schema", served, "--quick")
    command = [str(Path(sys.executable).with_name("reticent")), "serve", served, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        said: list[str] = []
        while not (found := re.search(r"http://[\w.:]+", said[-1] if said else "")) and server.poll() is None:
            said.append(server.stdout.readline())
        if found is None:
            sys.exit(f"Expected a server, got {''.join(said)}")
        with Client(found[0], "messages") as client:
            client.reward(client.choose(context={"device": "phone"}, person="ada"), 1.0)
        run("backup", served, "messages", str(folder / "backup.db"))
        server.terminate()
        server.stdout.read()
    if server.returncode != 0:
        sys.exit(f"Expected a server that stops when told, got exit code {server.returncode}.")
    run("erase", served, "messages", given="ada")
    run("end-experiment", served, "tested", "--yes")
    run("restore", served, "messages", str(folder / "backup.db"), "--yes")
    run("move", served, "tested", "--to", str(folder / "moved.db"))
    run("retire", served, "messages", "--yes")
    if "none.toml" not in (refused := run("serve", str(folder / "none.toml"), code=1)):
        sys.exit(f"Expected a server that only wants a configuration, got {refused}")


def stored(folder: Path) -> None:
    from reticent_serve import Stored

    with Stored(JointGLM(2, Budget(1.0, 1e-6), Reward(window="1 minute")), folder / "a.db") as made:
        made.observe(made.choose({"tea": [0.9, 0.0], "coffee": [0.1, 0.8]}), 1.0)


def of_devices(folder: Path) -> None:
    run("simulate", "shuffle-newton", "local-irls", *SHORT)
    run("privacy", "local-irls")


def of_the_lab(folder: Path) -> None:
    (folder / "log.csv").write_text(LOG)
    run("audit", "tree", "discrete-gaussian", "--runs", "100", "--plot", str(folder / "audit.png"))
    run("sweep", "uniform", *SHORT, "--out", str(folder / "rows"), "--plot", str(folder / "sweep.png"))
    run("evaluate", str(folder / "log.csv"))
    run("simulate", "uniform", "--env", "random:number=0", "--horizon", "50", "--runs", "1")
    small = [
        *("--worlds", "ball", "--runs", "1", "--out", str(folder / "arena"), "--results"),
        str(folder / "arena.jsonl"),
    ]
    run("arena", "uniform", *small)
    if "Expected a checkout" not in run("bench", "noise", code=1):
        sys.exit("Expected that benches are told to be in a checkout, got another word.")


def of_papers(folder: Path) -> None:
    run("reproduce", "shariff-figure1", "--quick", "--runs", "5", "--out", str(folder / "figure"))
    run("simulate", "shariff-lin-ucb", *SHORT)
    run("bounds", "uniform", *SHORT, "--link", "logistic", "--bound", "glm-lower", "--plot", str(folder / "regret.png"))


PARTS = {
    "reticent_serve": (stored, operated),
    "reticent_devices": (of_devices,),
    "reticent_lab": (of_the_lab,),
    "reticent_papers": (of_papers,),
}


def main() -> None:
    if Path(reticent.__file__).is_relative_to(Path(__file__).parents[1] / "packages"):
        sys.exit("Expected an installed package, got the source folder.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        everywhere(folder)
        extra = [one for one in ("polars", "matplotlib", "sklearn", "dp_accounting") if one in sys.modules]
        if extra:
            sys.exit(f"Expected that a bandit needs no extra, got {', '.join(extra)} imported.")
        helps()
        there = [package for package in PARTS if importlib.util.find_spec(package)]
        for package in ("reticent", *there):
            names(package)
        for work in PARTS[there[-1]] if there else ():  # of the last one: those below it are tried alone
            work(folder)
        if "reticent_two_servers" in WHAT:
            run("--help", command="reticent-two")
            if "none.toml" not in (said := run(str(folder / "none.toml"), code=1, command="reticent-two")):
                sys.exit(f"Expected an aggregator that only wants a configuration, got {said}")
    print(f"{WHAT}: reticent {reticent.__version__} works.")


if __name__ == "__main__":
    main()
