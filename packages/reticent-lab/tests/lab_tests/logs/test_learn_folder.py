"""A log in a folder: however it is cut, and wherever it is summed, the bits are those of its rows one by one."""

import itertools
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from core_tests.made import joint
from lab_tests.raising import raised
from reticent import Budget, Number, Schema, Simulated
from reticent.core import logs
from reticent.errors import HorizonReached, NotInstalled
from reticent.mechanisms.opening import opened
from reticent.models.glm import GLM
from reticent_lab.logs import parquet
from reticent_lab.logs.parquet import Folder, Local, together
from serve_tests.bandits.test_learn_log import same
from tests.whole.options import Seeded

BUDGET = Budget(1.0, 0.02)


def make(**options):
    return joint(**{"features": 4, "budget": BUDGET, "source": Seeded()} | options)


def rows(count=900, width=4, seed=0):
    """Some of every kind: a bit too long, far too long, none, out of range."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, width))
    x *= (rng.random(count) ** 0.25 / np.linalg.norm(x, axis=1))[:, None]
    x[::50] /= np.linalg.norm(x[::50], axis=1)[:, None] / (1 + 5e-7)  # cut to 1
    reward = rng.integers(2, size=count).astype(float)
    frame = pl.DataFrame({f"x{i}": x[:, i] for i in range(width)} | {"reward": reward})
    bad = {7: ("x0", 3.0), 8: ("x1", np.nan), 9: ("x1", None), 23: ("x0", np.inf)}
    bad |= {21: ("reward", 2.0), 22: ("reward", None)}
    for row, (name, value) in bad.items():
        column = frame[name].to_list()
        column[row] = value
        frame = frame.with_columns(pl.Series(name, column))
    return frame


def write(frame, folder, cuts=(0, 1, 130, 131, 500, 900)):
    folder.mkdir(exist_ok=True)
    for i, (start, stop) in enumerate(itertools.pairwise(cuts)):
        frame[start:stop].write_parquet(folder / f"part-{i:03}.parquet", row_group_size=100)
    return Folder(folder)


@pytest.mark.parametrize("options", [{}, {"link": "identity"}])
def test_a_folder_is_its_rows_one_by_one(options, tmp_path, monkeypatch):
    one, folder = make(**options), write(rows(), tmp_path / "log")
    expected = one.learn_log(rows())
    assert sorted(expected) == [7, 8, 9, 21, 23] and one.sums.steps > 5
    for at_once in (1 << 20, 64, 7):
        monkeypatch.setattr(parquet, "AT_ONCE", at_once)
        other = make(**options)
        assert other.learn_log(folder) == expected
        same(one, other)
        assert other.privacy.caveats == one.privacy.caveats
    assert opened(one.sums.state.prefix).open.dtype == np.int64 and opened(one.sums.state.prefix).open.any()
    one.learn_log(Folder(tmp_path / "log" / "part-003.parquet"))  # between others
    assert one.choices == 900 + 369


@pytest.mark.parametrize("named", [True, False])
def test_actions_have_coordinates_of_their_own(named, tmp_path):
    frame, rng = rows(width=2), np.random.default_rng(1)
    action = rng.integers(2, size=900) + named
    action[::15] = rng.choice([-1, 3], 60)
    names = np.array(["water", "tea", "coffee", "?"])
    frame = frame.with_columns(action=pl.Series(names[action]) if named else pl.Series(action))
    actions = ("coffee", "tea") if named else None
    one, other = (make(horizon=2000) for _ in range(2))
    raised(ValueError, make().learn_log, write(frame.drop("reward"), tmp_path / "none")).match("column reward")
    refused = one.learn_log(frame, actions=actions)
    assert other.learn_log(write(frame, tmp_path / "log"), actions=actions) == refused and len(refused) > 60
    same(one, other)


def test_any_split_gives_the_same_bits(tmp_path):
    """What each worker does is a function of its rows and of public numbers; how rows are dealt out changes nothing."""
    folder, bandit = write(rows(), tmp_path / "log"), make()
    bandit.learn_log(rows(300, seed=3))  # an estimate to be linearised at
    encoder, summer = parquet.encoder(bandit.memory.validator, folder, None), bandit.sums.summer
    rng, whole = np.random.default_rng(0), Local(folder, encoder)(0, 900, summer)
    total = opened(whole.total)
    for _ in range(20):
        cuts, parts = np.sort(rng.integers(0, 900, 6)), []
        for start, stop in zip([0, *cuts], [*cuts, 900], strict=True):
            for piece in folder.pieces(int(start), int(stop - start), int(rng.integers(1, 400))):
                parts.append(parquet._summed(encoder, summer, piece))
        assert np.array_equal(opened(together(parts).total), total)
        assert np.array_equal(together(parts).wrong, whole.wrong)
        assert np.array_equal(sum(parts[i].total for i in rng.permutation(len(parts))), total)


def test_persons_are_counted_with_live_rounds(tmp_path):
    frame = rows().with_columns(person=pl.Series([None if i % 60 == 0 else f"p{i % 200}" for i in range(900)]))
    one, other = make(rounds=3), make(rounds=3)
    for bandit in (one, other):
        bandit.choose([[0.1] * 4], person="p1")
    refused = one.learn_log(frame)
    assert other.learn_log(write(frame, tmp_path / "log")) == refused and len(refused) > 15
    same(one, other)
    assert sorted(one.memory.persons.counts.values()) == sorted(other.memory.persons.counts.values())


def test_what_is_no_numbers_is_read_row_by_row(tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "ROWS_AT_ONCE", 100)
    schema = Schema(context={"age": Number(0, 100)}, arms="disjoint", actions=("a", "b"))
    frame = pl.DataFrame(
        {"age": list(range(100)) * 9, "action": [*"ab" * 5, "c", "a"] * 75, "reward": [1.0, 0.0, 1.0] * 300}
    )
    folder = write(frame, tmp_path / "log")
    one, other = (joint(features=schema, budget=BUDGET, source=Seeded()) for _ in range(2))
    assert one.learn_log(folder) == other.learn_log(frame)
    same(one, other)
    floats, simulated = (make(source=Simulated(2)) for _ in range(2))
    assert floats.learn_log(write(rows(), tmp_path / "rows")) == simulated.learn_log(rows())
    same(floats, simulated)
    with pytest.raises(ValueError, match="Expected secure noise, .*x0, x1, .* got others"):
        make(source=Simulated(2)).learn_log(Folder(tmp_path / "log", engine="ray"))


class Half(GLM):
    """Learns from half of each row."""

    def adder(self, estimate):
        sound = super().adder(estimate)
        return sound._replace(sums=lambda rows, *given: sound.sums(0.5 * rows, *given))


def test_one_that_learns_otherwise_is_not_summed_as_its_parent(tmp_path):
    def half(asked):
        return Half(**vars(GLM.of(asked)))

    one, other, parent = make(model=half), make(model=half), make()
    for bandit in (one, parent):
        bandit.learn_log(rows())
    other.learn_log(write(rows(), tmp_path / "log"))
    same(one, other)
    assert not np.array_equal(opened(one.sums.state.prefix).open, opened(parent.sums.state.prefix).open)


def test_what_cannot_be_learnt_is_said_before_any_row(tmp_path):
    folder, bandit = write(rows(), tmp_path / "log"), make(horizon=899)
    raised(HorizonReached, bandit.learn_log, folder)
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.parquet").write_text("not one")
    write(rows(), mixed := tmp_path / "mixed")
    rows(width=3).write_parquet(mixed / "z.parquet")
    for path, message in (
        (tmp_path / "no", "got .* without"), (tmp_path / "empty", "got .* without"),
        (tmp_path / "other", "cannot be read"), (mixed, "same columns"),
    ):  # fmt: skip
        raised(ValueError, Folder, path).match(message)
    raised(ValueError, Folder, tmp_path / "log", engine="spark").match("engine")
    assert bandit.choices == 0


def test_a_folder_of_which_more_than_a_tenth_is_refused_is_not_learnt(tmp_path):
    """Its rows are columns of numbers, and looked at before the first is spent."""
    frame = rows().with_columns(x0=pl.Series(np.where(np.arange(900) < 100, 3.0, 0.1)))
    bandit, folder = make(), write(frame, tmp_path / "log")
    for _ in range(2):
        with pytest.raises(
            ValueError, match=r"one row in 10 to be refused, got 10\d of 900; nothing was learnt\. Row 0: "
        ):
            bandit.learn_log(folder)
    assert bandit.choices == 0 and bandit.privacy.spent == 0


def test_without_ray_one_line_says_so(tmp_path):
    write(rows(), tmp_path / "log")
    code = (
        "import sys\nsys.modules['ray'] = None\nfrom reticent import Bandit, Budget, JointGLM\n"
        "from reticent_lab.logs.parquet import Folder\n"
        "try:\n    Bandit(JointGLM(4, Budget(1, 1e-6))).learn_log(Folder('log', engine='ray'))\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    wanted = "Expected ray for engine='ray', got none: pip install 'reticent-lab[ray]'."
    assert done.stdout == f"{NotInstalled.__name__} {wanted}\n"
