"""Lower bounds on epsilon from one run with many canaries: how many of the guesses about them are right.

Each of m people, the canaries, has one of two rewards by a fair coin. Whoever sees what the run shows guesses the coins
of some of them, `guessed` in number, and `right` of the guesses are right.

Theorem (Mahloujifar, Melis & Chaudhuri 2024, arXiv:2410.22235, for two worlds and Gaussian trade-offs). Let the run be
mu-GDP for flipping any one coin, F(x) = Phi(Phi^-1(x) + mu), and p_i the probability that i of the g guesses are right.
Then for every k:
    A_k := sum_{i >= k} i p_i / m <= F(B_(k-1)),    B_k := sum_{i >= k} (g - i) p_i / m.
Proof. For a canary j and a side v, let E be the event that j's guess is v, and k - 1 or more of the other guesses are
right: a function of what was shown and of the other coins, so P(E | coin v) <= F(P(E | other coin)). Given coin v, E
says that j's guess is v and right, and at least k are right in all; given the other coin, that it is v and wrong, and
at least k - 1 are right. The mean over j and v, and F's concavity, give the claim. QED

`refuted` uses it backwards. Suppose that P(right >= c) >= tail: then A_c >= r and A_c >= r + c / (g - c) (B_c - h) for
r = tail c / m and h = tail (g - c) / m. If the same holds at k, then B_(k-1) >= h' := F^-1(r) by the theorem, and for
h' > h the mass that this takes at k - 1 gives A_(k-1) >= r' + (k - 1) / (g - k + 1) (B_(k-1) - h'), with
r' = r + (k - 1) / (g - k + 1) (h' - h): the same at k - 1, with B_(k-1) >= h'. All the mass is A_0 + B_0 = g / m, so
that r' + h' > g / m is a contradiction: then P(right >= c) < tail for every mu-GDP mechanism, and a run in which c are
right refutes mu with confidence 1 - tail.

What one run cannot tell is whether it was a run like others: a mechanism that is mu-GDP may, in one run of twenty, tell
of all canaries together much more than usual. So the bound stays below mu however many canaries there are, unless
guesses are few and sure. `independent` is the bound for guesses that are right independently of each other, as they
nearly are where each canary has noise of its own; that is what a certificate with Gaussian noise says. Then each is
right with a probability of at most Phi(mu / 2)."""

import numpy as np
from scipy.special import ndtr, ndtri

from tacit import checks
from tacit.audit.bound import CONFIDENCE, clopper_pearson
from tacit.privacy import search

DIGITS = 1e-4  # of mu


def lower_mu(right: int, guessed: int, canaries: int, confidence: float = CONFIDENCE) -> float:
    """With this confidence, the mu of a run in which so many guesses were right; 0 if nothing is known of it."""
    _check(right, guessed, canaries)

    def possible(mu: float) -> bool:
        return not refuted(mu, right, guessed, canaries, 1 - confidence)

    if possible(0.0):
        return 0.0
    low, high = search.doubled(possible, 0.0, 1.0, most=64.0)
    return search.halved(possible, low, high, digits=DIGITS)[0]


def refuted(mu: float, right: int, guessed: int, canaries: int, tail: float) -> bool:
    """Whether P(so many guesses or more are right) < tail for every mechanism that is mu-GDP."""
    _check(right, guessed, canaries)
    r, h = tail * right / canaries, tail * (guessed - right) / canaries
    for k in range(right, 0, -1):
        needed = float(ndtr(ndtri(r) - mu))
        if needed > h:
            r, h = r + (k - 1) / (guessed - k + 1) * (needed - h), needed
            if r + h > guessed / canaries:
                return True
    return False


def independent(right: int, guessed: int, confidence: float = CONFIDENCE) -> float:
    """The same where every canary is guessed, and guesses are right independently of each other."""
    _check(right, guessed, guessed)
    low, _ = clopper_pearson(np.array(right), guessed, 1 - confidence)
    return max(0.0, 2 * float(ndtri(float(low))))


def _check(right: int, guessed: int, canaries: int) -> None:
    checks.positive_int(guessed=guessed, canaries=canaries)
    if not 0 <= right <= guessed <= canaries:
        raise ValueError(f"Expected right <= guessed <= canaries, got {right}, {guessed} and {canaries}.")
