"""From shares to words: whether to personalise at this size, whom people have to trust, and what they are promised."""

import dataclasses
import math
from dataclasses import dataclass, replace
from typing import Any

from tacit import checks
from tacit.planning import surface
from tacit.planning.players import possible
from tacit.planning.setting import MODELS, Setting
from tacit.privacy import gaussian
from tacit.privacy.budget import Budget
from tacit.privacy.words import TWO_SERVERS

PEOPLE = (10**3, 10**4, 10**5, 10**6, 10**7)
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
USEFUL = 0.8  # of what could be had: worth the work
HOPELESS = 0.3  # less is not
CLOSE = 1.25  # times the people: no reason to hold more of each
SOON = 0.1  # of a year's people: no reason to ask for more trust
LOCAL = 2.0  # the least epsilon for which the local model is recommended: it is what worlds of other kinds hurt most
YEAR = 365  # days, in which a plan is to pay
FARTHEST = 10**9  # people, beyond which nobody is asked to wait
RATES = 0.2, 0.5  # mean rewards of random arms that the formula is trusted with; 0.5 was simulated
WEEKS = 52
WEEK = (
    "Where people come often you may also promise for a week instead of for ever (JointGLM, week=, docs/persons.md), "
    "or do both: everybody then counts as a new person each week, and many weeks together are protected less."
)
SIMULATE = (
    "If people have fields, write a schema and ask with --schema: that is simulated. If not, simulate your case "
    "(docs/product.md)."
)
TRUST = {
    "joint": "you hold people's raw data, and nobody else does",
    TWO_SERVERS: "people trust neither of you alone, but that you do not work together (not reviewed outside yet)",
    "shuffle": "people's devices hide what they send, and trust a shuffler that you do not run",
    "local": "people's devices hide what they send, and trust nobody",
}


@dataclass(frozen=True, kw_only=True)
class Question:
    """rounds_per_person: rounds of one person that are learnt from, and protected together. per_day: requests a day
    that are learnt from, `rounds_per_person` of each person; None if nobody knows. base_rate: the mean reward of random
    arms, where somebody says."""

    dim: int
    arms: int
    epsilon: float = 1.0
    delta: float = 1e-6
    rounds_per_person: int = 1
    radius: float = 3.0
    per_day: float | None = None
    base_rate: float | None = None

    def __post_init__(self) -> None:
        self.setting("joint")  # ValueError for what is wrong
        if self.base_rate is not None:
            checks.probability(base_rate=self.base_rate)
        if self.per_day is not None:
            checks.positive(per_day=self.per_day)

    def setting(self, model: str, **changed: Any) -> Setting:
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        del fields["per_day"], fields["base_rate"]
        return Setting(model=model, **fields | changed)

    @property
    def epsilons(self) -> list[float]:
        return sorted({*EPSILONS, self.epsilon})

    @property
    def year(self) -> int | None:
        """People in a year."""
        return None if self.per_day is None else round(YEAR * self.per_day / self.rounds_per_person)

    def days(self, people: float) -> float | None:
        return None if self.per_day is None else people * self.rounds_per_person / self.per_day


def rows(question: Question) -> list[dict[str, Any]]:
    """For each trust model and epsilon: shares after PEOPLE, which of them no simulation reaches, and how many people
    it takes until it is useful. shares: None where no report can have so little epsilon, and where it is not known:
    what was simulated does not cover it."""
    out = []
    for model in (MODELS[0], TWO_SERVERS, *MODELS[1:]):
        for epsilon in question.epsilons:
            two = model == TWO_SERVERS
            setting = both_noises(question, epsilon) if two else question.setting(model, epsilon=epsilon)
            known = not outside(replace(question, epsilon=setting.epsilon))
            need = needed(setting) if known else None
            out.append(
                {
                    "model": model,
                    "bandit": "TwoServerGLM" if two else surface.BANDITS[model],
                    "epsilon": epsilon,
                    "known": known,
                    "share": _rounded(setting) if known and possible(setting) else None,
                    "computed": [surface.computed(setting, n) for n in PEOPLE],
                    "useful_after": need,
                    "days": None if need is None else question.days(need),
                }
            )
    return out


def both_noises(question: Question, epsilon: float) -> Setting:
    """Two servers with that epsilon against each: what is learnt is JointGLM's with the noise of both, sqrt 2 times as
    much, which is its noise for a smaller epsilon. Nothing of its own was simulated."""
    mu = gaussian.mu(Budget(epsilon, question.delta)) / math.sqrt(2)
    return question.setting("joint", epsilon=gaussian.epsilon(mu, question.delta))


def _rounded(setting: Setting) -> list[float]:
    return [round(share, 4) for share in surface.shares(setting, PEOPLE)]


def outside(question: Question) -> list[str]:
    """What no simulation covers."""
    found, rate = question.setting("joint").outside(), question.base_rate
    if rate is not None and not RATES[0] <= rate <= RATES[1]:
        found.append(f"base_rate = {rate:g} (simulated: 0.5, and trusted from {RATES[0]:g} to {RATES[1]:g})")
    return found


def words(question: Question) -> list[str]:
    """The recommendation, a paragraph each: personalise or not, which model, which unit; or that it is not known."""
    beyond = outside(question)
    if beyond:
        often = [f"Unit: learn from fewer rounds of a person, or from one. {_serving(1)} {WEEK}"]
        return [f"Not known: {', '.join(beyond)}. {SIMULATE}", *often * (question.rounds_per_person > 1)]
    need = {model: needed(question.setting(model)) for model in MODELS}
    best = _best(question, need)
    two = both_noises(question, question.epsilon)
    if not outside(replace(question, epsilon=two.epsilon)):
        need = {"joint": need["joint"], TWO_SERVERS: needed(two)} | need
    return [_verdict(question, need["joint"]), _model(question, need, best), _unit(question, need)]


def needed(setting: Setting) -> int | None:
    """How many people until it is useful; None if more than anybody has."""
    return surface.needed(setting, USEFUL, FARTHEST) if possible(setting) else None


def _verdict(question: Question, joint: int | None) -> str:
    if question.year is None and joint is None:
        return f"Do not personalise: {FARTHEST:,} people would not be enough. {_instead(question, FARTHEST)}"
    if question.year is None:
        return (
            f"Personalise if you expect well over {count(joint or 0)} people: from then on they get {percent(USEFUL)} "
            "of what it can bring, where they trust you (joint). --per-day says how long that takes."
        )
    share = surface.shares(question.setting("joint"), [max(1, question.year)])[0]
    size = f"at this size ({count(question.year)} people a year)"
    if joint is not None and 2 * joint <= question.year:
        return f"Personalise {size}: after {_when(question, joint)} they get {percent(USEFUL)} of what it can bring."
    end = f"at the end of a year people get {percent(share)} of what it can bring"
    if share >= HOPELESS:
        return f"Personalise {size} only if a part is worth it: {end}. {_instead(question, question.year)}"
    return f"Do not personalise {size}: even {end}. {_instead(question, question.year)}"


def _instead(question: Question, people: int) -> str:
    """What would make it useful within half of the time: fewer numbers, a larger epsilon, or a promise for less of what
    a person does. In a year a person counts once in each week at most, and once in each round."""
    base, enough = question.setting("joint"), people // 2
    first, weeks = replace(base, rounds_per_person=1), min(WEEKS, question.rounds_per_person)
    fewer = next((d for d in range(question.dim - 1, 1, -1) if _soon(replace(base, dim=d), enough)), None)
    larger = next((e for e in EPSILONS if e > question.epsilon and _soon(replace(base, epsilon=e), enough)), None)
    ways = [
        f"{fewer} numbers" * (fewer is not None),
        f"ε = {larger or 0:g}" * (larger is not None),
        "the first round of each person alone" * (first != base and _soon(first, enough)),
        "a promise for a week instead of for ever (see Unit)" * (first != base and _soon(first, weeks * enough)),
    ]
    said = " or ".join(way for way in ways if way)
    if not said:
        return "Neither fewer numbers nor a larger ε would help enough: offer everybody the same."
    return f"It would be useful with {said}."


def _soon(setting: Setting, people: int) -> bool:
    need = needed(setting)
    return need is not None and need <= people


def _best(question: Question, need: dict[str, int | None]) -> str:
    """The least trust that is useful soon: with a tenth of a year's people, or, where nobody knows the rate, with ten
    times those of joint; joint if none is. Local must have an epsilon of LOCAL besides."""
    good = [model for model in MODELS if _is_soon(question, need, model)]
    if question.epsilon < LOCAL and "local" in good:
        good.remove("local")
    return good[-1] if good else "joint"


def _is_soon(question: Question, need: dict[str, int | None], model: str) -> bool:
    limit = (need["joint"] or 0) / SOON if question.year is None else question.year * SOON
    return (need.get(model) or FARTHEST + 1) <= limit


def _model(question: Question, need: dict[str, int | None], best: str) -> str:
    """Which one for which trust, and what each costs in people."""
    told = "; ".join(
        f"{model} {'never' if people is None else 'after ' + _when(question, people)}" for model, people in need.items()
    )
    chosen = f"joint (JointGLM) if people trust you with their data: {TRUST['joint']}."
    if _is_soon(question, need, TWO_SERVERS):
        chosen += f" If not, {TWO_SERVERS} (TwoServerGLM) where there is a second operator: {TRUST[TWO_SERVERS]}."
    if best != "joint":
        chosen += f" If not, {best} ({surface.BANDITS[best]}): {TRUST[best]}."
    weak = f" Local wants an ε of {LOCAL:g} or more." if question.epsilon < LOCAL else ""
    return f"Model: {chosen} {percent(USEFUL)} is reached: {told}.{weak}"


def _unit(question: Question, need: dict[str, int | None]) -> str:
    """Whose promise it is, and what to do where people come often."""
    k = question.rounds_per_person
    if k == 1:
        return (
            f"Unit: the person, learning from the first round of each. {_serving(1)} If people come back, --per-day is "
            f"new people a day. {WEEK}"
        )
    once = {model: needed(question.setting(model, rounds_per_person=1)) for model in MODELS}
    if once["joint"] is None and need["joint"] is None:
        return f"Unit: the person; with one round of each or with {k}, there is too much noise to learn. {WEEK}"
    better = need["joint"] is None or (once["joint"] or FARTHEST + 1) <= CLOSE * need["joint"]
    rounds = "the first round" if better else f"the first {k} rounds"
    return (
        f"Unit: the person, learning from {rounds} of each. {_serving(1 if better else k)} {percent(USEFUL)} is "
        f"reached with 1 round of each after {_people(once)} people; with {k} after {_people(need)}. {WEEK}"
    )


def _serving(k: int) -> str:
    return f'Later visits are served without learning (JointGLM: max_rounds_per_person={k}, on_limit="serve").'


def _people(need: dict[str, int | None]) -> str:
    """Of each model."""
    return ", ".join(f"{'never' if n is None else count(n)} ({model})" for model, n in need.items())


def _when(question: Question, people: int) -> str:
    days = question.days(people)
    few = "at most " if people * question.rounds_per_person <= surface.LEAST + question.rounds_per_person else ""
    return f"{few}{count(people)} people" + ("" if days is None else f" ({span(days)})")


def count(people: float) -> str:
    """Two digits: nobody knows more."""
    return f"{float(f'{people:.2g}'):,.0f}"


def percent(share: float) -> str:
    return f"{100 * max(0.0, share):.0f} %"


def span(days: float) -> str:
    if days < 1:
        return "within a day"
    if days < 2 * YEAR:
        return f"{float(f'{days:.2g}'):,.0f} days"
    return f"{float(f'{days / YEAR:.2g}'):,.0f} years"
