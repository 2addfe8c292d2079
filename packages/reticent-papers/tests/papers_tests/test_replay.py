"""What published bandits show depends on released sums, own arms and fresh randomness alone: the core's replay."""

import pytest

import reticent_papers as papers
from reticent import JointGLM, Secure, Simulated
from reticent_papers import Anytime, ShariffLinUCB, regression
from reticent_papers.joint.wishart_kernel import simulate_wishart_step
from reticent_papers.mechanisms import laplace, noisy_kernel, sums
from tests.whole import replay, tape
from tests.whole import test_replay as core
from tests.whole.leaks import Answered, Counted, Raw, Timed, Waiting
from tests.whole.test_replay import BUDGET, embedded, made, planted, registered

test_in_a_compiled_loop = core.test_in_a_compiled_loop
test_leaks_are_found = core.test_leaks_are_found
test_leaks_of_a_local_server_are_found = core.test_leaks_of_a_local_server_are_found
test_local = core.test_local
test_shuffle = core.test_shuffle
test_step_by_step_with_secure_noise = core.test_step_by_step_with_secure_noise
test_step_by_step_with_simulated_noise = core.test_step_by_step_with_simulated_noise


def noisy_gradient(recorded, kernel):
    def seam(total, noise, cell):
        out = kernel(total, noise, cell)
        recorded.release(("gradient", total.size, cell), out)
        return out

    return seam


def noisy_sum(recorded, function):
    def seam(total, sigma, cell, source):
        out = function(total, sigma, cell, source)
        recorded.release(("sum", total.size, sigma, cell), out)
        return out

    return seam


def shuffled_sum(recorded, kernel):
    def seam(rng, total, *plan):
        out = kernel(rng, total, *plan)
        recorded.release(("shuffled sum", total.size, plan), out)
        return out

    return seam


tape.SEAMS |= {
    sums.with_noise: noisy_sum,
    noisy_kernel.with_coins: shuffled_sum,
    simulate_wishart_step: tape.after(
        "prefix", lambda rng, state, *law: law, lambda rng, state, *law: [state.released, *state.noise]
    ),
    noisy_kernel.with_noise: noisy_gradient,
    laplace.decoded: tape.before("sum", lambda sums, plan: plan, lambda sums, plan: [sums]),
}
PAPERS = "reticent_papers"
JOINT_CASES = registered("JOINT", made, PAPERS, first=6) | {
    "shariff-lin-ucb-tree": made(ShariffLinUCB, release="tree"),
    "shariff-lin-ucb-consistent-tree": made(ShariffLinUCB, release="consistent-tree"),
    "shariff-lin-ucb-buffered": made(ShariffLinUCB, release="buffered"),
    "joint-glm-rare": made(papers.JointGLMRare, ridge=3.0, iterations=3),
    "adac-gope": made(papers.AdaCGOPE, length_scale=1e-3),
    "joint-reweighted": made(papers.JointReweighted, first=11),
    "joint-reweighted-linear": made(papers.JointReweighted, first=11, link="identity"),
    "fliphat": made(papers.Fliphat, first=11),
    "joint-square-cb": made(papers.JointSquareCB, first=10),
}
SHUFFLE_CASES = registered("SHUFFLE", embedded, PAPERS, first=16) | {
    "shuffle-glm": embedded(papers.ShuffleGLM, iterations=3, horizon=90)
}
LOCAL_CASES = registered("LOCAL", embedded, PAPERS) | {
    "local-square-cb": embedded(papers.LocalSquareCB, first=10),
    "local-reweighted": embedded(papers.LocalReweighted, first=60),
}
LEAK_CASES = planted((Raw, Counted, Timed, Waiting), JOINT_CASES)
LEAK_CASES |= planted((Raw, Counted, Answered, Waiting), SHUFFLE_CASES)
SIMULATED_CASES = JOINT_CASES | {"shariff-lin-ucb-wishart": made(ShariffLinUCB, noise="wishart")}
LOOP_CASES = SIMULATED_CASES | SHUFFLE_CASES | LOCAL_CASES
JOINT_CASES["anytime"] = lambda source: Anytime(lambda horizon: made(JointGLM, horizon=horizon)(source), first=25)
SIMULATED_CASES = SIMULATED_CASES | {"anytime": JOINT_CASES["anytime"]}


@pytest.mark.parametrize("source", [Secure, lambda: Simulated(4)])
@pytest.mark.parametrize("name", regression.__all__)
def test_regression(name, source):
    assert replay.check(lambda: getattr(regression, name)(budget=BUDGET, source=source()), replay.fits) >= 2
