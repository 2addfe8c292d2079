"""What somebody who has just installed tacit would try, with what that environment has: part of `make dist`.

python -I tests/smoke.py WHAT    # -I: the installed package, not this folder
"""

import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import tacit
from tacit import Budget, JointGLM

if Path(tacit.__file__).is_relative_to(Path(__file__).parents[1] / "src"):
    sys.exit("Expected an installed package, got the source folder.")
command = str(Path(sys.executable).with_name("tacit"))
said = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
if tacit.__version__ not in said or metadata.version("tacit") != tacit.__version__:
    sys.exit(f"Expected version {tacit.__version__}, got {said.strip()} and {metadata.version('tacit')}.")

bandit = JointGLM(dim=2, budget=Budget(epsilon=1.0, delta=1e-6))
choice = bandit.choose({"tea": [0.9, 0.0], "coffee": [0.1, 0.8]})
bandit.observe(choice, 1.0)
if not (bandit.privacy.private and abs(bandit.privacy.epsilon - 1.0) < 1e-6):
    sys.exit("Expected a private bandit with epsilon 1, got another claim.")
with tempfile.TemporaryDirectory() as folder:
    bandit.save(Path(folder) / "bandit.json")
    if JointGLM.load(Path(folder) / "bandit.json").choices != 1:
        sys.exit("Expected a bandit that goes on after its first choice, got another.")
subprocess.run([command, "privacy", "joint-glm", "--epsilon", "1", "--delta", "1e-6"], capture_output=True, check=True)
bench = subprocess.run([command, "bench", "noise"], capture_output=True, text=True, check=False)
if bench.returncode != 1 or "Expected a checkout" not in bench.stderr or "Traceback" in bench.stderr:
    sys.exit(f"Expected that benches are told to be in a checkout, got {bench.stderr.strip()[-300:]}.")
extra = [name for name in ("polars", "matplotlib", "sklearn", "dp_accounting") if name in sys.modules]
if extra:
    sys.exit(f"Expected that serving needs no extra, got {', '.join(extra)} imported.")
if "[service]" in sys.argv[1]:
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run([command, "serve", "none.toml"], cwd=folder, capture_output=True, text=True, check=False)
        if "none.toml" not in said.stderr or "pip install" in said.stderr:  # it looks for its configuration
            sys.exit(f"Expected a server that only wants a configuration, got {said.stderr}")
print(f"{sys.argv[1]}: tacit {tacit.__version__} works.")
