"""Saved published bandits release once."""

import shutil

from core_tests.bandits.test_second_release import ARMS, filled
from lab_tests.raising import raised
from reticent import Budget
from reticent.errors import BadState
from reticent_papers import JointSquareCB


def test_of_copies_of_a_file_one_goes_on(tmp_path):
    bandit = filled(kind=JointSquareCB)
    for i in range(3):
        bandit.save(tmp_path / str(i))
    shutil.copy(tmp_path / "2", tmp_path / "copy")
    went_on = 0
    for name in ("0", "1", "2", "copy"):
        try:
            JointSquareCB.load(tmp_path / name).choose(ARMS)
        except BadState:
            continue
        went_on += 1
    assert went_on == 1


def test_an_interrupted_epoch_is_released_once(monkeypatch):
    """Whatever is interrupted, nothing is shown of an epoch that will be noised again."""
    bandit = JointSquareCB(dim=2, horizon=400, budget=Budget(1.0, 1e-3), first=10)
    for _ in range(10):
        bandit.observe(bandit.choose([[0.6, 0.0], [0.0, 0.6]]), 1.0)
    for name in ("_open", "_step_and_error"):
        with monkeypatch.context() as patch:
            patch.setattr(JointSquareCB, name, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            raised(KeyboardInterrupt, bandit.choose, [[0.6, 0.0], [0.0, 0.6]])
        assert not bandit.theta.any()
        if bandit.closed:
            break
