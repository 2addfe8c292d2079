"""How regret grows, paper by paper: leading orders without constants and logarithms, one row an algorithm.

A term is a product of powers. The table of docs/papers/bounds.md is printed from here, so that what is read is what is
tested: each row against its theorem, where that stands under an O."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

Term = Mapping[str, float]  # symbol -> power
SYMBOLS = ("d", "K", "S", "κ", "κ*", "λ", "T", "ε")  # in the order in which they are written; S stands for e^S


@dataclass(frozen=True)
class Rate:
    """bandit: the class here, or "" for a bound on all algorithms. terms: none where nothing is proven."""

    bandit: str
    model: str
    paper: str
    terms: tuple[Term, ...]
    note: str = ""

    def __str__(self) -> str:
        return " + ".join(_product(term) for term in self.terms) or "measured, not proven"

    def value(self, **sizes: float) -> float:
        """The sum of the terms; sizes that are not given are 1."""
        total = 0.0
        for term in self.terms:
            product = 1.0
            for symbol, power in term.items():
                product *= sizes.get(symbol, 1.0) ** power
            total += product
        return total


LINEAR, GLM = "linear", "generalised linear"
SHARIFF, ZHENG, HAN = "Shariff & Sheffet 2018, Cor. 12", "Zheng et al. 2020", "Han et al. 2021"
MAIN, IMPROVED, CHEN, SAWARNI = "Sarmasarkar 2026", "Improved rate", "Chen et al. 2025", "Sawarni et al. 2024"
ROOT = {"T": 0.5}
INSTANCE = {"d": 1.0, "κ*": -0.5} | ROOT
FLAT = {"d": 1.0, "κ": 1.0} | ROOT

RATES = (
    Rate("ShariffLinUCB", "joint", SHARIFF, ({"d": 1.0} | ROOT, {"d": 0.75, "ε": -0.5} | ROOT), LINEAR),
    Rate(
        "JointGLMRare",
        "joint",
        f"{MAIN}, Thm 6.2",
        (INSTANCE, {"d": 1.0, "κ*": -0.5, "ε": -0.5} | ROOT),
        "κ* ≥ 1; d^3/4 once T ≥ e^d; for the algorithm as printed, which leaks",
    ),
    Rate(
        "JointReweighted",
        "joint",
        f"{CHEN}, Thm 5.1",
        ({"d": 2.0, "κ": 1.5} | ROOT, {"d": 2.5, "κ": 1.0, "ε": -1.0}, {"d": 2.0, "κ": 1.5, "ε": -1.0}),
        "κ stands for κ / κ*; contexts drawn from one law; d² is d min(d, K); linear: √(d T log K) min(d, K) (Thm 5.2)",
    ),
    Rate(
        "JointSquareCB",
        "joint",
        f"{CHEN}, Thm 6.4",
        ({"K": 0.5, "T": 0.75}, {"K": 0.5, "T": 2 / 3, "ε": -1 / 3}),
        "linear; free of d",
    ),
    Rate(
        "JointGLM",
        "joint",
        "ours",
        (),
        "bounds while it runs, and for linear rewards: [proofs/one-pass.md](../proofs/one-pass.md)",
    ),
    Rate(
        "", "joint", f"{CHEN}, Table 1", ({"d": 0.5} | ROOT, {"d": 1.0, "ε": -1.0}), "lower bound, linear; times √log K"
    ),
    Rate("", "joint", f"{MAIN}, section 7", (INSTANCE, {"d": 1.0, "ε": -1.0}), "lower bound; ours has its constants"),
    Rate(
        "ShuffleGLM",
        "shuffle",
        f"{MAIN}, Thm 5.1",
        (
            {"d": 1.5, "κ*": -0.5} | ROOT,
            {"d": 1.25, "κ*": -0.5, "ε": -0.5} | ROOT,
            {"d": 2.0, "S": 3.0, "κ": 1 / 3, "T": 1 / 3, "ε": -2 / 3},
        ),
        "contexts drawn from one law; ε < 5",
    ),
    Rate("ShuffleLinUCB", "shuffle", f"{MAIN}, Table 1; {IMPROVED}", ({"d": 1.0, "T": 0.6, "ε": -0.5},), "linear"),
    Rate("ShuffleNewton", "shuffle", "ours", (), "[measurements/shuffle.md](../measurements/shuffle.md)"),
    Rate(
        "LocalLinUCB",
        "local",
        ZHENG,
        ({"d": 0.75, "T": 0.75, "ε": -1.0},),
        f"linear; as Table 1 of {CHEN} quotes it ({IMPROVED} has ε^-1/2)",
    ),
    Rate(
        "LocalOnlineUCB",
        "local",
        f"{IMPROVED}, Cor. 3.6",
        ({"d": 0.5, "λ": -1.0, "ε": -1.0} | ROOT,),
        "linear; λ the smallest eigenvalue of E[x xᵀ]; below T^-1/4: d^1/2 T^3/4 ε^-1",
    ),
    Rate(
        "LocalAnytimeUCB",
        "local",
        f"{IMPROVED}, Thm E.1",
        ({"d": 0.5, "T": 0.75}, {"d": 0.5, "T": 0.625, "ε": -1.0}),
        "linear; at every round",
    ),
    Rate(
        "LocalCombiner",
        "local",
        f"{IMPROVED}, Thm 4.1",
        ({"d": 0.5, "λ": -2.0, "ε": -1.0} | ROOT,),
        "linear; λ unknown; below T^-1/8: d^1/2 T^5/6 + d^1/2 T^17/24 ε^-1",
    ),
    Rate(
        "LocalGLM", "local", HAN, ({"d": 0.5, "λ": -1.0, "ε": -1.0} | ROOT,), "times √log K; λ over all greedy policies"
    ),
    Rate(
        "LocalReweighted",
        "local",
        f"{CHEN}, Thm 5.3",
        ({"d": 2.5, "κ": 1.0, "ε": -1.0} | ROOT, {"d": 2.0, "κ": 1.5, "ε": -1.0} | ROOT),
        "κ stands for κ / κ*; contexts drawn from one law; d² is d min(d, K)",
    ),
    Rate("LocalSquareCB", "local", f"{CHEN}, Thm 6.4", ({"K": 0.5, "T": 5 / 6, "ε": -1 / 3},), "linear; free of d"),
    Rate("LocalIRLS", "local", "ours", (), "[measurements/local.md](../measurements/local.md)"),
    Rate("", "local", f"{CHEN}, Table 1", ({"d": 1.0, "ε": -1.0} | ROOT,), "lower bound, linear, ε ≤ 1"),
    Rate("LinUCB", "none", "Abbasi-Yadkori et al. 2011", ({"d": 1.0} | ROOT,), LINEAR),
    Rate("GLMUCB", "none", "Filippi et al. 2010", (FLAT,)),
    Rate("GLOC", "none", "Jun et al. 2017", (FLAT,)),
    Rate("RSGLinUCB", "none", SAWARNI, (INSTANCE,)),
    Rate("BGLinCB", "none", SAWARNI, (INSTANCE,), "contexts drawn from one law; d^3/2 with our design"),
    Rate("ECOLog", "none", "Faury et al. 2022", (INSTANCE,), "logistic"),
    Rate("MLEUCB", "none", "", (), "a tuned reference"),
    Rate("LogisticTS", "none", "", (), "a tuned reference"),
    Rate("Uniform", "none", "", ({"T": 1.0},)),
)


def markdown() -> str:
    """The table of docs/papers/bounds.md."""
    lines = ["| | model | regret grows like | from | |", "|---|---|---|---|---|"]
    for rate in RATES:
        name = f"`{rate.bandit}`" if rate.bandit else "every algorithm, at least"
        lines.append(f"| {name} | {rate.model} | {rate} | {rate.paper} | {rate.note} |")
    return "\n".join(lines)


def _product(term: Term) -> str:
    """Powers as fractions: d^3/4 T^1/2."""
    parts = []
    for symbol in SYMBOLS:
        if power := term.get(symbol, 0.0):
            name = "e" if symbol == "S" else symbol
            shown = f"{Fraction(power).limit_denominator(24)}"
            shown = f"{int(power)}S" if symbol == "S" else shown
            parts.append(name if power == 1 and symbol != "S" else f"{name}^{shown}")
    return " ".join(parts)
