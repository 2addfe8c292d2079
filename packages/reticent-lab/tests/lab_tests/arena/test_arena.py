"""The arena: worlds that do not change, everybody who is registered, submissions, kept rows, a page."""

import hashlib
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.random import SeedSequence

from lab_tests.commands import run
from lab_tests.raising import raised
from reticent import registry
from reticent.errors import Interrupted
from reticent_lab.arena import page, submission, table, worlds
from reticent_lab.arena.audit import Audited, audited, sighted
from reticent_lab.arena.entries import entries

EXAMPLES = Path(__file__).parents[5] / "examples" / "arena"
VERSIONS = {1: "052d92b8", 2: "776c957c"}
BLIND = {  # what one user does there shows in no arm of the next 80
    "joint-glm-rare", "joint-glm-rare as its author's code", "joint-reweighted",
    "joint-square-cb link=identity", "adac-gope", "distributed-elimination", "shuffle-sblb",
    "local-anytime-ucb", "local-combiner", "local-reweighted", "local-square-cb link=identity",
}  # fmt: skip
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
    assert chosen <= set(worlds.random.REPORTING)


def test_every_private_algorithm_plays_at_every_epsilon():
    played = {(entry.name.split()[0], entry.epsilon, entry.trust) for entry in entries()}
    for table_name in ("JOINT", "SHUFFLE", "LOCAL"):
        for name in registry.bandits(table_name):
            assert {(name, epsilon, table_name.lower()) for epsilon in worlds.EPSILONS} <= played, name
    assert ("uniform", math.inf, "none") in played


@pytest.mark.parametrize(
    ("name", "where"),
    [("adac-ucb", ["basis"]), ("adac-gope", ["fixed", "basis"]), ("distributed-elimination", ["basis"])],
)
def test_who_needs_the_same_arms_for_all_plays_where_they_are(name, where):
    player = next(entry for entry in entries() if entry.name == name)
    assert [arena.name for arena in worlds.arenas() if player.plays(arena)] == where


def test_a_submission_is_run_certified_audited_and_kept(tmp_path, monkeypatch):
    line = 'follow = { file = "follow.py", class = "Follow", trust = "joint" }'
    listed, path = submit(tmp_path, line, "follow.py"), tmp_path / "rows.jsonl"
    monkeypatch.setattr(table, "RUNS", 100)
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


def test_a_bandit_of_reticent_is_a_submission_with_its_certificate(tmp_path):
    (tmp_path / "mine.py").write_text("from reticent import JointGLM as Mine\n")
    listed = submit(tmp_path, 'mine = { file = "mine.py", class = "Mine", trust = "joint", runs = 2 }')
    true, stated, relation = table.certified(listed[0], ball()[0])
    assert true == pytest.approx(1.0, rel=1e-3) and true <= 1.0 and not stated and relation == "replace"


def test_the_audit_convicts_what_adds_no_noise(tmp_path):
    """Claims epsilon 1 at delta 1e-6, and adds noise, or none."""
    line = 'follow = {{ file = "follow.py", class = "Follow", trust = "joint", options = {{ scale = {} }} }}'
    for scale, guilty in ((1.0, False), (0.0, True)):
        (tmp_path / str(scale)).mkdir()
        entry = submit(tmp_path / str(scale), line.format(scale), "follow.py")[0]
        assert (audited(entry, runs=100, given=True).at_least > 1.0) is guilty
    assert audited(entry, runs=800, given=True).at_least > 4.0  # and what adds none, also where it claims 4


@pytest.mark.full
def test_who_is_blind_to_the_attack_is_known():
    """Of all others the attack proves more than 1 where there is no noise: scores of the two worlds do not overlap."""
    seen = {entry.name for entry in entries() if entry.epsilon == 1.0 and next(sighted(entry), None) is not None}
    private = {entry.name for entry in entries() if entry.epsilon == 1.0}
    assert private - seen == BLIND
    blind = next(entry for entry in entries() if entry.name == "joint-reweighted")
    assert audited(blind) == (None, 0)


def test_an_audit_is_of_the_code_and_options_that_play(tmp_path, monkeypatch):
    line, found = 'follow = {{ file = "follow.py", class = "Follow", trust = "joint"{} }}', iter((0.25, 0.5, 0.75))
    monkeypatch.setattr(table, "audited", lambda *_, **__: Audited(next(found), 100))
    entry = submit(tmp_path, line.format(""), "follow.py")[0]
    first = table.played(entry, ball()[0], 1, tmp_path / "out", {})
    again = table.played(entry, ball()[0], 1, tmp_path / "out", {first.key: first})
    assert (first.audit, again.audit, again.audit_runs) == (0.25, 0.25, 100)
    (tmp_path / "follow.py").write_text((tmp_path / "follow.py").read_text() + "\n# another version\n")
    changed = next(submission.submitted(tmp_path / "arena.toml"))
    assert table.played(changed, ball()[0], 1, tmp_path / "out", {first.key: first}).audit == 0.5
    other = submit(tmp_path, line.format(", options = { scale = 0.0 }"))[0]
    row = table.played(other, ball()[0], 1, tmp_path / "out", {first.key: first})
    assert row.audit == 0.75 and row.code != table.empty(changed, ball()[0]).code
    assert not table.started(entry) and table.started(next(submission.submitted(EXAMPLES / "author.toml")))


FAILING = """
class Bad:
    def __init__(self, **_): {init}
    def choose(self, arms): return {choose}
    def observe(self, arm, reward): {observe}
    def claim(self): return {{"epsilon": {epsilon}, "delta": {delta}, "why": "so"}}
"""
SOUND = {"init": "pass", "choose": "0", "observe": "pass", "epsilon": "1.0", "delta": "1e-6"}


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"init": "import os; os.environ['NOT_SET']"}, "'NOT_SET'"),
        ({"choose": "1.5"}, "Expected Bad.choose to return the place of an arm"),
        ({"observe": "raise RuntimeError('tired')"}, "tired"),
        ({"epsilon": "None"}, "Expected a positive epsilon from Bad.claim, got None"),
        ({"epsilon": "float('nan')"}, "Expected a positive epsilon"),
        ({"epsilon": "-3"}, "Expected a positive epsilon"),
        ({"delta": "0.5"}, "Expected a delta of at most 1e-06"),
    ],
    ids=str,
)
def test_a_stranger_who_fails_stops_nobody_and_is_tried_again(wrong, why, tmp_path):
    (tmp_path / "bad.py").write_text(FAILING.format(**SOUND | wrong))
    listed = submit(tmp_path, 'bad = { file = "bad.py", class = "Bad", trust = "local" }')
    path = tmp_path / "rows.jsonl"
    rows = table.fill(path, [*listed, next(entries())], ball(), out=tmp_path / "out", runs=1)
    assert [row.mean is None for row in rows.values()] == [True, True, False]
    assert all(why in row.why for row in rows.values() if row.mean is None)
    assert not table.done(next(iter(rows.values())), listed[0], 1)


def test_a_class_that_inherits_a_certificate_only_states_it(tmp_path):
    (tmp_path / "mine.py").write_text("from reticent import JointGLM\n\n\nclass Mine(JointGLM):\n    pass\n")
    entry = submit(tmp_path, 'mine = { file = "mine.py", class = "Mine", trust = "joint" }')[0]
    assert table.certified(entry, ball()[0])[1]
    assert isinstance(entry.spec.build(ball()[0].world, 100, SeedSequence(0)).algorithm, entry.spec.kind)


def test_two_who_fill_one_file_lose_nothing(tmp_path, monkeypatch):
    """Another process writes a row while this one plays."""
    path, (plain,) = tmp_path / "rows.jsonl", ball()
    uniform, lin_ucb = list(entries())[:2]
    play = table.played

    def meanwhile(*given):
        table.write(path, [table.empty(lin_ucb, plain)])
        return play(*given)

    monkeypatch.setattr(table, "played", meanwhile)
    table.fill(path, [uniform], [plain], out=tmp_path / "out", runs=1)
    assert {row.name for row in table.read(path).values()} == {"uniform", "lin-ucb"}


@pytest.mark.parametrize(("line", "message"), [
    ("follow = 3", "Expected follow = { file = , class = , trust = }"),
    ('follow = { file = "follow.py", class = "Follow" }', "Expected follow = { file = , class = , trust = }"),
    ('follow = { file = "follow.py", class = "Follow", trust = "me" }', "Expected trust to be one of joint"),
    ('follow = { file = "nothing.py", class = "Follow", trust = "joint" }', "Expected a Python file"),
    ('follow = { file = "follow.py", class = "Lead", trust = "joint" }', "Expected a class Lead"),
    ('joint-glm = { file = "follow.py", class = "Follow", trust = "joint" }', "that no bandit of the arena has"),
])  # fmt: skip
def test_a_wrong_line_is_told(line, message, tmp_path):
    raised(ValueError, submit, tmp_path, line, "follow.py").match(message)


def test_a_strangers_repository_plays_in_a_process_of_its_own(tmp_path, monkeypatch):
    """The adapter, with a class of the same face in the place of the repository, which is not here."""
    home = tmp_path / "clone" / "glmbanditexp" / "algorithms"
    home.mkdir(parents=True)
    (home / "private_rs_glinucb.py").write_text(STUB)
    monkeypatch.setenv("AUTHOR_CODE", str(tmp_path / "clone"))
    author = submission.loaded(EXAMPLES / "author.py", "Author")
    asked = {"dim": 3, "arms": 4, "horizon": 5, "epsilon": 1.0, "delta": 1e-6}
    stranger = author(**asked, radius=3.0, link="probit", seed=1)
    for round_number in range(5):
        assert stranger.choose(np.eye(4, 3)) == round_number % 4
        stranger.observe(np.zeros(3), 1.0)
    assert stranger.claim()["epsilon"] == 1.0
    stranger.close()
    assert stranger.process.returncode == 0
    assert [entry.name for entry in submission.submitted(EXAMPLES / "author.toml")] == ["author", "author"]


def test_the_page_has_tables_and_pictures(tmp_path):
    plain = {"version": worlds.VERSION, "code": "0", "reticent": "0", "runs": 50, "error": 1.0, "worst": 9.0, "us": 2.0}
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
    refused = table.Played(name="three", trust="local", epsilon=1.0, world="ball", why="Expected more.", **plain)
    assert "| three | ball | Expected more. |" in page.tables([*rows, refused])
    raised(ValueError, page.write, text, [], tmp_path / "images").match("Expected rows of the arena's version")
    text.write_text("A page without marks")
    raised(ValueError, page.write, text, rows, tmp_path / "images").match("got a page without")


def test_the_command(tmp_path, monkeypatch, capsys):
    def arena(*arguments):
        places = ["--results", str(tmp_path / "rows.jsonl"), "--out", str(tmp_path / "out")]
        code, out, told = run(capsys, monkeypatch, "arena", *arguments, *places)
        return code, out, " ".join(told.split())

    code, out, _ = arena("uniform", "--worlds", "ball", "--runs", "2")
    assert code == 0 and out.startswith("uniform · none · ε=– · ball: 24")
    for arguments, wrong in (
        (["uniform", "--worlds", "ball", "--runs", "-1"], "Expected runs"),
        (["nobody"], "Expected an entry of the arena, got 'nobody'. There are: uniform"),
        (["--worlds", "moon"], "Expected small, random, page, real or a world of the arena, got 'moon'"),
    ):
        code, _, told = arena(*arguments)
        assert code == 1 and wrong in told
    assert len(table.read(tmp_path / "rows.jsonl")) == 1
