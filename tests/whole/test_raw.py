"""Raw is closed: leaks that are planted where raw data are moved end in an error, or say nothing. Those planted where
numbers are open, in mechanisms and at the validator, are for tests/whole/test_logs.py and test_replay.py."""

import copy
import io
import json
import logging
import operator
import pickle

import numpy as np
import pytest
from numba.core.errors import TypingError

from core_tests.canaries import Canaries
from core_tests.made import joint
from reticent import Budget, Holdout, Simulated
from reticent.data import Raw
from reticent.mechanisms.opening import opened
from serve_tests.store.places import Place, glm

CANARIES = Canaries(3)
HELD = (np.array(CANARIES.numbers), CANARIES.reward, b"some bytes", (1.0, 2.0), None)
READ = {
    "np.asarray": np.asarray,
    "np.array of several": lambda raw: np.array([raw, raw]),
    "dtype": lambda raw: np.array(raw, dtype=float),
    "any": lambda raw: np.asarray(raw).any(),
    "a ufunc": lambda raw: np.add(raw, 0.0),
    "a sum": np.sum,
    "nan": np.isnan,
    "an operator of an array": lambda raw: np.zeros(3) + raw,
    "an operator": lambda raw: raw * 2,
    "reflected": lambda raw: 2 - raw,
    "in place": lambda raw: operator.iadd(raw, 1),
    "matmul": lambda raw: raw @ np.eye(3),
    "if": bool,
    "not": operator.not_,
    "len": len,
    "for": list,
    "star": lambda raw: (lambda *parts: parts)(*raw),
    "index": lambda raw: raw[0],
    "put": lambda raw: operator.setitem(raw, 0, 1.0),
    "in": lambda raw: 1.0 in raw,
    "among": lambda raw: raw in [1.0],
    "equal": lambda raw: raw == 1.0,
    "equal to itself": lambda raw: raw == raw,
    "unequal": lambda raw: raw != 1.0,
    "less": lambda raw: raw < 1.0,
    "sorted": lambda raw: sorted([raw, raw]),
    "f-string": lambda raw: f"{raw}",
    "format": lambda raw: f"{raw:.3f}",
    "%f": lambda raw: operator.mod("%f", raw),
    "float": float,
    "int": int,
    "complex": complex,
    "range": range,
    "bytes": bytes,
    "memoryview": memoryview,
    "frombuffer": np.frombuffer,
    "round": round,
    "abs": abs,
    "minus": operator.neg,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
    "json": json.dumps,
    "vars": vars,
}


@pytest.mark.parametrize("how", READ)
def test_nothing_reads_it(how):
    for held in HELD:
        with pytest.raises(TypeError):
            READ[how](Raw(held))


def test_what_it_says_is_nothing():
    for held in HELD:
        assert repr(Raw(held)) == str(Raw(held)) == "<raw>" and "raw" in repr([Raw(held)])
        assert not hasattr(Raw(held), "shape") and opened(Raw(held)) is held
    one, same = Raw(0.25), Raw(0.25)
    assert hash(one) == hash(one) and len({hash(one), hash(same), hash(0.25)}) == 3  # by identity


def made(**options):
    bandit = joint(features=3, budget=Budget(1.0, 1e-5), first=8, source=Simulated(0), **options)
    person = {"person": CANARIES.texts["person"]} if "rounds" in options else {}
    for _ in range(20):
        bandit.observe(bandit.choose([CANARIES.numbers, [0.0, 0.0, 0.5]], **person), CANARIES.reward)
    return bandit


def asked(bandit):
    """One person's request on its way: checked, drawn for, and played."""
    request = bandit.curator.ask([CANARIES.numbers])
    drawn = bandit.curator.draw(request)
    return request, drawn, bandit.curator.ahead(request, drawn), bandit.curator.played(21, request, drawn)


IN_MEMORY = {  # each with the name of what it would have told
    "an error text with a row": lambda bandit: f"Expected another row, got {bandit.memory.tickets.entry(20).row}.",
    "an error text with a reward": lambda bandit: f"Expected less, got {a_reward(bandit):.2f}.",
    "an error text with a row to be kept": lambda bandit: f"Expected less, got {asked(bandit)[3].row:.2f}.",
    "a metric of an exact sum": lambda bandit: float(np.sum(bandit.sums.state.prefix)),
    "a branch on a row": lambda bandit: bandit.memory.tickets.entry(20).row.any(),
    "a branch on a row to be kept": lambda bandit: asked(bandit)[3].row[0] > 0.1,
    "a branch on a reward": lambda bandit: a_reward(bandit) > 0.5,
    "a branch on what enters": lambda bandit: entered(bandit).rewards > 0.5,
    "a length of what enters": lambda bandit: len(entered(bandit)),
    "a shape": lambda bandit: bandit.memory.tickets.shape,
    "a length": lambda bandit: len(bandit.memory.tickets),
    "how many rewards came": lambda bandit: np.count_nonzero(~np.isnan(bandit.memory.tickets.rewards)),
    "how many wait": lambda bandit: np.count_nonzero(bandit.memory.tickets),
    "how many wait, for loops": lambda bandit: len(bandit.memory.held()),
    "a pickled state": lambda bandit: pickle.dumps(bandit.sums.state),
    "a copied state": lambda bandit: copy.deepcopy(bandit.sums.state),
    "pickled sums": lambda bandit: pickle.dumps(bandit.sums),
    "copied sums": lambda bandit: copy.deepcopy(bandit.sums),
    "a pickled memory": lambda bandit: pickle.dumps(bandit.memory),
    "a copied memory": lambda bandit: copy.deepcopy(bandit.memory),
    "a pickled curator": lambda bandit: pickle.dumps(bandit.curator),
    "a pickled choice to be kept": lambda bandit: pickle.dumps(asked(bandit)[3].row),
    "a pickled bandit": pickle.dumps,
    "a copied bandit": copy.copy,
    "an estimate from exact sums": lambda bandit: bandit.sums.estimator.follow(bandit.sums.state.prefix, 3, 24, ()),
    "an estimate from open sums": lambda bandit: bandit.sums.estimator.follow(bandit.sums.state.prefix.open, 3, 24, ()),
    "the noise": lambda bandit: bandit.sums.state.prefix.noise.table.copy(),
    "a file that others may read": lambda bandit: np.savez(io.BytesIO(), bandit.sums.state.prefix, allow_pickle=False),
}


def a_reward(bandit):
    return bandit.memory.validator.check(CANARIES.reward)


def entered(bandit):
    """What the next choices add."""
    memory = bandit.memory
    return bandit.curator.entering([memory.tickets.entry(20)], range(20, 21), memory.size, bool)


@pytest.mark.parametrize("leak", IN_MEMORY)
def test_leaks_planted_in_memory_end_in_an_error(leak):
    with pytest.raises((TypeError, AttributeError, TypingError)):  # the last: numba never meets the class
        IN_MEMORY[leak](made(window=3))


HOLDOUT = Holdout(policy="uniform", share=0.5)


@pytest.mark.parametrize(
    "options", [{}, {"window": 3}, {"rounds": 3}, {"window": 3, "default": 0.0, "holdout": HOLDOUT}], ids=" ".join
)
def test_what_a_bandit_holds_says_nothing_of_anybody(options):
    """Its repr, that of what it is composed of, and whatever a debugger lists of them; what was released is noise."""
    bandit = made(**options)
    sums, owners = bandit.sums, (bandit, bandit.memory, bandit.sums, bandit.sums.estimator, bandit.curator)
    parts = [*owners, sums.state, *map(vars, owners), *(part for one in owners for part in vars(one).values())]
    said = "".join(map(repr, parts))
    assert "<raw>" in said and CANARIES.found_in([("repr", said.encode())], opened(sums.state.prefix).open) == []


def test_a_request_says_nothing_of_anybody_wherever_it_is():
    """What is checked, drawn and played; also where all of their parts are listed."""
    bandit = made(window=3)
    on_its_way = [*asked(bandit), entered(bandit), bandit.memory.tickets.entry(20)]
    said = "".join(f"{one!r} {one!s} {[one]!r}" for one in on_its_way)
    said += "".join(f"{tuple(one)!r}" for one in on_its_way if isinstance(one, tuple))
    assert "<raw>" in said and CANARIES.found_in([("repr", said.encode())]) == []


def test_leaks_planted_on_a_database_end_in_an_error(tmp_path, monkeypatch, caplog):
    with Place(str(tmp_path / "x.db"), None).open(glm(first=8)) as stored:
        asked = stored.with_propensity(stored.prepare([CANARIES.numbers], request=CANARIES.texts["request"]))
        (choice,) = stored.choose_group([asked])
        report = stored.report(choice, CANARIES.reward)
        row = Raw(np.array(CANARIES.numbers))
        entered, steps = [], type(stored._steps)
        monkeypatch.setattr(steps, "_join", lambda self, entries, numbers, sums, _: entered.extend([*entries, sums]))
        stored.write_group([report])
        stored._clock.now += 100
        stored.tend()
        entry, sums = entered
        for leak in (report.reward, row, entry.row, entry.reward, sums, stored._steps._closed):
            for how in READ.values():
                with pytest.raises(TypeError):
                    how(leak)
        with caplog.at_level(logging.DEBUG):
            logging.getLogger("reticent").debug("%s %r %s %s %s", report, entry, sums, asked, tuple(asked))
    assert "<raw>" in caplog.text and CANARIES.found_in([("log", caplog.text.encode())]) == []
