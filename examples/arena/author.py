"""A stranger's repository in the arena, in a process of its own: the code of Sarmasarkar 2026. Nothing of it is here.

    git clone https://github.com/Sahasrajit123/Shuffle_joint_dp_generalized_linear_contextual_bandits CLONE
    AUTHOR_CODE=CLONE reticent arena --submit examples/arena/author.toml --worlds ball

Its class wants the arms of the next round together with the reward of this one, and prints; so the child below keeps
the reward until arms come, and speaks JSON lines on a pipe of its own. Another repository needs another `serve`."""

import contextlib
import json
import math
import os
import subprocess
import sys

SLOPES = {
    "logistic": lambda z: 0.25 / math.cosh(z / 2) ** 2,
    "probit": lambda z: math.exp(-z * z / 2) / math.sqrt(2 * math.pi),
}


class Author:
    """What the arena calls."""

    def __init__(self, *, dim, arms, horizon, epsilon, delta, radius, link, seed):
        self.epsilon, self.delta = epsilon, delta
        settings = {"T": horizon, "epsilon": epsilon, "delta": delta, "zeta": delta, "S": radius, "R": 1.0}
        settings |= {"model": link.capitalize(), "kappa": 1 / SLOPES[link](radius), "kappa_star": 1 / SLOPES[link](0.0)}
        command = [sys.executable, __file__, os.environ["AUTHOR_CODE"]]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.reward = None
        self.ask({"settings": settings, "seed": seed})

    def ask(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def choose(self, arms):
        return self.ask({"arms": arms.tolist(), "reward": self.reward})

    def observe(self, arm, reward):
        self.reward = reward

    def claim(self):
        why = "the paper's theorem; what reticent computes and finds is in docs/papers/joint-glm-rare.md"
        return {"epsilon": self.epsilon, "delta": self.delta, "relation": "replace", "why": why}

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def serve(clone):
    """The child: their class, one line in and one line out."""
    sys.path.insert(0, clone)
    import numpy as np
    from glmbanditexp.algorithms.private_rs_glinucb import Private_RS_GLinUCB

    answers = os.fdopen(os.dup(1), "w")
    with contextlib.redirect_stdout(sys.stderr), open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        bandit = settings = None
        for line in sys.stdin:
            message = json.loads(line)
            if "settings" in message:
                settings, answer = message["settings"] | {"rng": np.random.default_rng(message["seed"])}, None
            else:
                arms = [np.array(arm) for arm in message["arms"]]
                if bandit is None:
                    bandit = Private_RS_GLinUCB(arms, save_privacy_search_log="never", **settings)
                else:
                    bandit.update(message["reward"], 0.0, arms)
                answer = int(bandit.play_arm())
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
