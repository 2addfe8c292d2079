"""From a simulated plan to words: whether to personalise at this size, with which fields, and what to declare."""

import numpy as np

from reticent import durations
from reticent_serve.planning.trials import ORDINARY, PEOPLE, WEIGHT, YEAR, Case, Forecast, Found

USEFUL = 0.8  # of what could be had: worth the work
HOPELESS = 0.3  # less is not
SIZE = 10_000  # people whom fields are judged by, where nobody knows how many come
CLEARLY = 0.05  # by so much, and in every world, another schema is better
ENOUGH = 4  # worlds
SOONER = 0.8  # of the people
RARE = 0.2  # rewards: fewer are rare
FAR = 10  # times as many people a year as were simulated: a low share then tells nothing of the year


def words(plan: Forecast) -> list[str]:
    """A paragraph each: whether to, what one action for all would bring, which fields, what to declare; of vectors
    whether to alone."""
    if plan.question.schema is None:
        return [_verdict(plan)]
    return [_verdict(plan), _floor(plan), _fields(plan), _declare(plan)]


def numbers(plan: Forecast) -> str:
    """How many numbers are learnt of an action, and of which fields they are."""
    schema = plan.question.schema
    assert schema is not None
    each = ", ".join(f"{' x '.join(part.names) or 'constant'} {part.size}" for part in schema.own)
    size = sum(part.size for part in schema.own)
    return f"{size} numbers are learnt of each of {len(schema.offered)} actions: {each}."


def tastes(plan: Forecast) -> str:
    """What can be had, in the user's units."""
    found = []
    for name, (_, _, best) in plan.rates.items():
        found.append(f"{rate(best)} ({name})")
    random = rate(plan.rates[ORDINARY][0])
    return (
        f"Tastes: where random actions earn {random}, the best one for each person would earn {', '.join(found)}. If "
        "you expect a smaller gain than with weak tastes, shares are lower still."
    )


def rate(mean: float) -> str:
    return f"{100 * mean:.3g} %"


def size(plan: Forecast) -> int:
    """People whom fields are judged by: a year's, or SIZE, as far as they were simulated."""
    year = plan.question.year
    return plan.asked.at(SIZE if year is None else min(year, 100_000))[1]


def _verdict(plan: Forecast) -> str:
    question, asked = plan.question, plan.asked
    need, year = asked.after(USEFUL), question.year
    if year is None:
        if need is None:
            share = asked.at(asked.most)[0]
            return (
                f"Not useful within {count(asked.most)} people: then they get {percent(share)} of what personalising "
                "can bring. More were not simulated. --per-day says what a year brings."
            )
        return (
            f"Personalise if you expect well over {count(need)} people: from then on they get {percent(USEFUL)} of "
            "what it can bring. --per-day says how long that takes."
        )
    here = f"at this size ({count(year)} people a year)"
    if need is not None and 2 * need <= year:
        days = question.days(need)
        when = "" if days is None else f" ({span(days)})"
        return f"Personalise {here}: after {count(need)} people{when} they get {percent(USEFUL)} of what it can bring."
    share, at = asked.at(year)
    end = f"after {count(at)} people, as far as was simulated," if at < year else "at the end of a year"
    if at > year:
        end = f"even after {count(at)} people, the fewest that were simulated,"
    said = f"{end} people get {percent(share)} of what it can bring"
    if share >= max(HOPELESS, plan.floor):
        return f"Personalise {here} only if a part is worth it: {said}."
    if FAR * at < year:
        more = " Without --quick more are simulated." if at <= SIZE else ""
        return f"Not known {here}: {said}.{more}"
    return f"Do not personalise {here}: {said}."


def _floor(plan: Forecast) -> str:
    """Whether personalising is better than finding one action for all."""
    asked = plan.asked
    better = asked.after(plan.floor)
    if better is None:
        found = f"and within {count(asked.most)} people the bandit brings less"
    elif better <= PEOPLE[0]:
        found = "and the bandit soon brings more"
    else:
        found = f"and until about {count(better)} people have come the bandit brings less"
    return (
        f"One action for everybody: the best one alone has {percent(plan.floor)} of it on average over these worlds, "
        f"if you know which it is, {found}."
    )


def _fields(plan: Forecast) -> str:
    at, question, asked = size(plan), plan.question, plan.asked
    assert question.schema is not None
    names = list(question.schema.context)
    if len(names) < 2:
        return "Fields: there is one or none to leave out."
    here = asked.at(at)[0]
    found = []
    for name in names:
        other = plan.of(Case(question.epsilon, left_out=name))
        if _better(other, asked, at):
            found.append(f"Without `{name}` they have {percent(other.at(at)[0])}, even where it matters.")
    alone = plan.of(Case(question.epsilon, alone=True))
    need, name = alone.after(here), f"The one field that matters most, alone (`{names[0]}` alone, if it is that one),"
    if here > HOPELESS and need is not None and need <= SOONER * at:
        found.append(f"{name} gets there with {count(need)}.")
    elif alone.at(at)[0] > here + CLEARLY:
        found.append(f"{name} has {percent(alone.at(at)[0])} then.")
    if not found:
        found = ["No field costs more than it brings, if you do not know which of them matter."]
    return f"Fields: with {count(at)} people all of them together have {percent(here)}. {' '.join(found)}"


def _better(other: Found, asked: Found, at: int) -> bool:
    """By much, and in every world, if there are ENOUGH: by chance all of four agree once in sixteen times."""
    column = PEOPLE.index(max(n for n in PEOPLE if n <= at))
    apart = other.share[:, column] - asked.share[:, column]
    apart = apart[~np.isnan(apart)]
    return bool(len(apart) >= ENOUGH and apart.mean() > CLEARLY and apart.min() > 0)


def _declare(plan: Forecast) -> str:
    question, found = plan.question, []
    assert question.schema is not None
    if question.base_rate is None:
        found.append(
            f"base_rate, if fewer than {percent(RARE)} of people bring a reward (this plan is for "
            f"{percent(question.rate)}; say --base-rate for another)"
        )
    elif question.base_rate < RARE:
        found.append(f"base_rate = {question.base_rate:g}, as here")
    if len(question.schema.context) > 1:
        at = size(plan)
        before, after = (each.at(at)[0] for each in (plan.asked, plan.of(Case(question.epsilon, weight=WEIGHT))))
        if after > before + CLEARLY:
            gain = f"{percent(before)} becomes {percent(after)} with {count(at)} people"
            found.append(f"weight = {WEIGHT:g} for the field that matters most, if you know it ({gain})")
    if question.window is None:
        found.append('window, the time by which nine in ten rewards have come; --window "1 day" says what it costs')
    else:
        found.append(f"window = {durations.words(question.window)}, as here: {question.later:,} choices")
    return f"Declare, before anybody comes: {'; '.join(found)}."


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
