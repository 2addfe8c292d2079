"""Raw is closed: leaks that are planted where raw data are moved end in an error, or say nothing. Those planted where
numbers are open, in mechanisms and at the door, are for tests/whole/test_logs.py and test_replay.py."""

import copy
import io
import json
import logging
import operator
import pickle

import numpy as np
import pytest
from numba.core.errors import TypingError

from tacit import Budget, Simulated
from tacit.data import Raw
from tacit.mechanisms.opening import opened
from tests.canaries import Canaries
from tests.made import joint
from tests.store.places import Place

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
    for _ in range(20):
        bandit.observe(bandit.choose([CANARIES.numbers, [0.0, 0.0, 0.5]]), CANARIES.reward)
    return bandit


IN_MEMORY = {  # each with the name of what it would have told
    "an error text with a row": lambda bandit: f"Expected another row, got {bandit._tickets.entry(20).row}.",
    "an error text with a reward": lambda bandit: f"Expected less, got {bandit._door.check(CANARIES.reward):.2f}.",
    "a metric of an exact sum": lambda bandit: float(np.sum(bandit._state.prefix)),
    "a branch on a row": lambda bandit: bandit._tickets.entry(20).row.any(),
    "a branch on a reward": lambda bandit: bandit._door.check(CANARIES.reward) > 0.5,
    "a shape": lambda bandit: bandit._tickets.shape,
    "a length": lambda bandit: len(bandit._tickets),
    "how many rewards came": lambda bandit: np.count_nonzero(~np.isnan(bandit._tickets.rewards)),
    "how many wait": lambda bandit: np.count_nonzero(bandit._tickets),
    "a pickled state": lambda bandit: pickle.dumps(bandit._state),
    "a copied state": lambda bandit: copy.deepcopy(bandit._state),
    "an estimate from exact sums": lambda bandit: bandit._update(bandit._state.prefix),
    "an estimate from open sums": lambda bandit: bandit._update(bandit._state.prefix.open),
    "the noise": lambda bandit: bandit._state.prefix.noise.table.copy(),
    "a file that others may read": lambda bandit: np.savez(io.BytesIO(), bandit._state.prefix, allow_pickle=False),
}


@pytest.mark.parametrize("leak", IN_MEMORY)
def test_leaks_planted_in_memory_end_in_an_error(leak):
    with pytest.raises((TypeError, AttributeError, TypingError)):  # the last: numba never meets the class
        IN_MEMORY[leak](made(hold=3))


@pytest.mark.parametrize("options", [{}, {"hold": 3}])
def test_what_a_bandit_holds_says_nothing_of_anybody(options):
    """Its repr, that of its state, and whatever a debugger lists of both; what was released is noise."""
    bandit = made(**options)
    said = "".join(repr(part) for part in (bandit, bandit._state, vars(bandit), *vars(bandit).values()))
    assert "<raw>" in said and CANARIES.found_in([("repr", said.encode())], opened(bandit._state.prefix).open) == []


def test_leaks_planted_on_a_database_end_in_an_error(tmp_path, monkeypatch, caplog):
    with Place(str(tmp_path / "x.db"), None).open(joint(features=3, budget=Budget(1.0, 1e-5), first=8)) as stored:
        asked = stored.with_propensity(stored.prepare([CANARIES.numbers], request=CANARIES.texts["request"]))
        (choice,) = stored.choose_group([asked])
        report = stored.report(choice, CANARIES.reward)
        row = stored.algorithm.logged(np.array(CANARIES.numbers))
        entered, steps = [], type(stored._steps)
        monkeypatch.setattr(steps, "_join", lambda self, entries, sums, *_: entered.extend([*entries, sums]))
        stored.write_group([report])
        stored._clock.now += 100
        stored.tend()
        entry, sums = entered
        for leak in (report.reward, row, entry.row, entry.reward, sums, stored._steps._closed):
            for how in READ.values():
                with pytest.raises(TypeError):
                    how(leak)
        with caplog.at_level(logging.DEBUG):
            logging.getLogger("tacit").debug("%s %r %s %s %s", report, entry, sums, asked, tuple(asked))
    assert "<raw>" in caplog.text and CANARIES.found_in([("log", caplog.text.encode())]) == []
