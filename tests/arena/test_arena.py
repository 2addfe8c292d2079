"""The arena: worlds that do not change, everybody who is registered, submissions, kept rows, a page."""

import hashlib
import math
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from tacit import cli, registry
from tacit.arena import page, submission, table, worlds
from tacit.arena.audit import audited
from tacit.arena.entries import entries
from tacit.errors import Interrupted

EXAMPLES = Path(__file__).parents[2] / "examples" / "arena"
VERSIONS = {1: "052d92b8", 2: "fb0cee91"}
STUB = """
class Private_RS_GLinUCB:
    def __init__(self, arms, kappa, kappa_star, R, S, model, T, zeta, epsilon, delta, rng, save_privacy_search_log):
        print("noise on stdout")
        assert model == "Probit" and kappa > kappa_star > 0 and len(arms[0]) == 3
        self.arms, self.total = arms, 0.0
    def play_arm(self):
        return int(self.total) % len(self.arms)
    def update(self, reward, regret, arms):
        self.arms, self.total = arms, self.total + 1
"""


def ball():
    return [arena for arena in worlds.arenas() if arena.name == "ball"]


def submit(folder, line, *files):
    for file in files:
        shutil.copy(EXAMPLES / file, folder / file)
    (folder / "arena.toml").write_text(line)
    return list(submission.submitted(folder / "arena.toml"))


def test_a_version_of_the_worlds_does_not_change():
    """Whoever changes a world, a horizon, a budget or a seed writes a new version, and its digest here."""
    listed = [(a.name, a.group, repr(a.world), a.horizon, a.runs) for a in worlds.arenas()]
    text = repr((listed, worlds.DELTA, worlds.EPSILONS, worlds.SEED))
    assert hashlib.sha256(text.encode()).hexdigest()[:8] == VERSIONS[worlds.VERSION]
    assert {a.group for a in worlds.arenas()} == {"small", "random", "page", "real"}
    assert all(arena.horizon < 1 / worlds.DELTA for arena in worlds.arenas())
    chosen = {a.world.number for a in worlds.arenas() if a.group == "random"}
    assert chosen <= set(worlds.environments.random.REPORTING)


def test_every_private_algorithm_plays_at_every_epsilon():
    played = {(entry.name.split()[0], entry.epsilon) for entry in entries()}
    for table_name in ("JOINT", "SHUFFLE", "TWO", "LOCAL"):
        for name in registry.bandits(table_name):
            assert {(name, epsilon) for epsilon in worlds.EPSILONS} <= played, name
    assert ("uniform", math.inf) in played


def test_a_submission_is_run_certified_audited_and_kept(tmp_path, monkeypatch):
    line = 'follow = { file = "follow.py", class = "Follow", trust = "joint" }'
    listed, path = submit(tmp_path, line, "follow.py"), tmp_path / "rows.jsonl"
    rows = table.fill(path, listed, ball(), out=tmp_path / "out", runs=2)
    assert [row.epsilon for row in rows.values()] == [1.0, 4.0]
    for row in rows.values():
        assert (row.true, row.stated, row.runs, row.trust) == (row.epsilon, True, 2, "joint")
        assert 0 < row.mean < 0.3 * row.uniform and row.audit <= row.epsilon and row.us > 0
    assert table.read(path) == rows
    with monkeypatch.context() as patch:  # the same code is not run again, and another file is
        patch.setattr(table, "simulate", lambda *_, **__: pytest.fail("It ran."))
        assert table.fill(path, listed, ball(), out=tmp_path / "out", runs=2) == rows
    (tmp_path / "follow.py").write_text((tmp_path / "follow.py").read_text() + "\n# another version\n")
    changed = list(submission.submitted(tmp_path / "arena.toml"))
    again = table.fill(path, changed, ball(), out=tmp_path / "out", runs=2)
    assert {row.code for row in again.values()}.isdisjoint(row.code for row in rows.values())
    with pytest.raises(Interrupted, match="2 rows are in"):
        table.fill(path, changed, ball(), out=tmp_path / "out", runs=3, minutes=-1)


def test_a_bandit_of_tacit_is_a_submission_with_its_certificate(tmp_path):
    (tmp_path / "mine.py").write_text("from tacit import JointGLM as Mine\n")
    listed = submit(tmp_path, 'mine = { file = "mine.py", class = "Mine", trust = "joint", runs = 2 }')
    true, stated, relation = table.certified(listed[0], ball()[0])
    assert true == pytest.approx(1.0, rel=1e-3) and true <= 1.0 and not stated and relation == "replace"


def test_the_audit_convicts_what_adds_no_noise(tmp_path):
    """Claims epsilon 1 at delta 1e-6, and adds noise, or none."""
    line = 'follow = {{ file = "follow.py", class = "Follow", trust = "joint", options = {{ scale = {} }} }}'
    for scale, guilty in ((1.0, False), (0.0, True)):
        (tmp_path / str(scale)).mkdir()
        entry = submit(tmp_path / str(scale), line.format(scale), "follow.py")[0]
        assert (audited(entry, claim=1.0, delta=1e-6, runs=100) > 1.0) is guilty
    assert audited(entry, claim=4.0, delta=1e-6, runs=800) > 4.0  # and what adds none, also where it claims 4


def test_an_audit_is_of_the_code_that_plays(tmp_path, monkeypatch):
    line, found = 'follow = { file = "follow.py", class = "Follow", trust = "joint" }', iter((0.25, 0.5))
    monkeypatch.setattr(table, "audited", lambda *_, **__: next(found))
    entry = submit(tmp_path, line, "follow.py")[0]
    first = table.played(entry, ball()[0], 1, "code", tmp_path / "out", {})
    again = table.played(entry, ball()[0], 1, "code", tmp_path / "out", {first.key: first})
    assert (first.audit, again.audit) == (0.25, 0.25)
    (tmp_path / "follow.py").write_text((tmp_path / "follow.py").read_text() + "\n# another version\n")
    changed = next(submission.submitted(tmp_path / "arena.toml"))
    assert table.played(changed, ball()[0], 1, "code", tmp_path / "out", {first.key: first}).audit == 0.5
    assert not table.started(entry) and table.started(next(submission.submitted(EXAMPLES / "author.toml")))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("follow = 3", "Expected follow = { file = , class = , trust = }"),
        ('follow = { file = "follow.py", class = "Follow" }', "Expected follow = { file = , class = , trust = }"),
        ('follow = { file = "follow.py", class = "Follow", trust = "me" }', "Expected trust to be one of joint"),
        ('follow = { file = "nothing.py", class = "Follow", trust = "joint" }', "Expected a Python file"),
        ('follow = { file = "follow.py", class = "Lead", trust = "joint" }', "Expected a class Lead"),
    ],
)
def test_a_wrong_line_is_told(line, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        submit(tmp_path, line, "follow.py")


def test_a_strangers_answers_are_checked(tmp_path):
    text = "class Bad:\n    def __init__(self, **_): pass\n    def choose(self, arms): return len(arms)\n"
    (tmp_path / "bad.py").write_text(text + "    def claim(self): return {}\n")
    entry = submit(tmp_path, 'bad = { file = "bad.py", class = "Bad", trust = "local" }')[0]
    row = table.played(entry, ball()[0], 1, "code", tmp_path / "out", {})
    assert row.mean is None and "Expected Bad.choose to return the place of an arm" in row.why
    bandit = entry.spec.build(ball()[0].world, 100, np.random.SeedSequence(0))
    with pytest.raises(ValueError, match="Expected epsilon, delta and why from Bad.claim"):
        _ = bandit.privacy


def test_a_strangers_repository_plays_in_a_process_of_its_own(tmp_path, monkeypatch):
    """The adapter, with a class of the same face in the place of the repository, which is not here."""
    home = tmp_path / "clone" / "glmbanditexp" / "algorithms"
    home.mkdir(parents=True)
    (home / "private_rs_glinucb.py").write_text(STUB)
    monkeypatch.setenv("AUTHOR_CODE", str(tmp_path / "clone"))
    author = submission.loaded(EXAMPLES / "author.py", "Author")
    asked = {
        "dim": 3,
        "arms": 4,
        "horizon": 5,
        "epsilon": 1.0,
        "delta": 1e-6,
        "radius": 3.0,
        "link": "probit",
        "seed": 1,
    }
    stranger = author(**asked)
    for round_number in range(5):
        assert stranger.choose(np.eye(4, 3)) == round_number % 4
        stranger.observe(np.zeros(3), 1.0)
    assert stranger.claim()["epsilon"] == 1.0
    stranger.close()
    assert stranger.process.returncode == 0
    assert [entry.name for entry in submission.submitted(EXAMPLES / "author.toml")] == ["author", "author"]


def test_the_page_has_tables_and_pictures(tmp_path):
    plain = {"version": worlds.VERSION, "code": "0", "tacit": "0", "runs": 50, "error": 1.0, "worst": 9.0, "us": 2.0}
    rows = [
        table.Played(
            name=n, trust=t, epsilon=e, world=w.name, mean=m, p95=2 * m, uniform=100.0, true=e, audit=0.1, **plain
        )
        for n, t, e, m in (("uniform", "none", None, 99.0), ("one", "joint", 1.0, 20.0), ("two", "local", 4.0, 30.0))
        for w in worlds.arenas()
    ]
    text = tmp_path / "arena.md"
    text.write_text(f"Before\n{page.START}old\n{page.END}\nAfter\n")
    page.write(text, rows, tmp_path / "images")
    written = text.read_text()
    assert written.startswith("Before") and written.endswith("After\n") and "old" not in written
    assert "| one | joint | 20 / 40 | 20 / 40 |" in written and "| uniform | none | 99 / 198 |" in written
    assert {path.name for path in (tmp_path / "images").iterdir()} == {"arena.png", "arena-cost.png"}
    text.write_text("A page without marks")
    with pytest.raises(ValueError, match="got a page without"):
        page.write(text, rows, tmp_path / "images")


def test_the_command(tmp_path, monkeypatch, capsys):
    def run(*arguments):
        places = ["--results", str(tmp_path / "rows.jsonl"), "--out", str(tmp_path / "out")]
        monkeypatch.setattr(sys, "argv", ["tacit", "arena", *arguments, *places])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code, capsys.readouterr()

    code, said = run("uniform", "--worlds", "ball", "--runs", "2")
    assert code == 0 and said.out.startswith("uniform · none · ε=– · ball: 24")
    code, said = run("nobody")
    assert code == 1 and "Expected an entry of the arena, got 'nobody'. There are: uniform" in " ".join(
        said.err.split()
    )
    code, said = run("--worlds", "moon")
    assert code == 1 and "Expected small, random, page, real or a world of the arena, got 'moon'" in " ".join(
        said.err.split()
    )
