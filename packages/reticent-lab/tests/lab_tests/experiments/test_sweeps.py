"""Sweeps: as the runner, resumable, drawn."""

import pytest

from reticent import Budget, JointGLM, LinUCB, Spec, Uniform, environments
from reticent.errors import Interrupted
from reticent_lab.environments import replay
from reticent_lab.experiments import figure, rows
from reticent_lab.experiments.sweeps import simulate

WORLD = environments.ball(dim=3, arms=5)
SPECS = [Spec(LinUCB), Spec(JointGLM, budget=Budget(1.0, 1e-3))]


def test_interrupted_work_goes_on(tmp_path):
    """Stopped after some of 12 runs; the second call computes only the rest and equals an uninterrupted one."""
    whole = simulate(SPECS, WORLD, horizon=20_000, runs=6, seed=1)

    def stop(share):
        if share > 0.3:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="runs are kept"):
        simulate(SPECS, WORLD, horizon=20_000, runs=6, seed=1, out=tmp_path, progress=stop, workers=2)
    kept = list((tmp_path / "runs").iterdir())
    assert 0 < len(kept) < 12
    times = {path: path.stat().st_mtime_ns for path in kept}
    rest = simulate(SPECS, WORLD, horizon=20_000, runs=6, seed=1, out=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in kept} == times
    assert len(list((tmp_path / "runs").iterdir())) == 12
    assert [run.regret for run in rest.runs] == [run.regret for run in whole.runs]
    assert rows.write(rest, tmp_path).exists() and rows.frame(rest).shape[0] == 12  # a row for each run


def test_a_log_that_changed_is_run_again(tmp_path):
    log, means = tmp_path / "log.csv", []
    for reward in (0.0, 1.0):
        log.write_text("x0,action,reward\n" + f"0.5,0,{reward}\n0.5,1,{reward}\n" * 20)
        spec = Spec(LinUCB, label=f"reward {reward}")
        result = simulate([spec], replay(file=str(log)), horizon=40, runs=1, seed=0, out=tmp_path)
        means.append(result.rows[0]["reward_mean"])
        again = Spec(LinUCB, label="another name")
        kept = simulate([again], replay(file=str(log)), horizon=40, runs=1, seed=0, out=tmp_path)
        assert kept.rows[0]["label"] == "another name"
    assert means == [0.0, 1.0]


def test_kept_runs_are_told_apart_by_everything_that_matters(tmp_path):
    for seed, horizon, scale in ((0, 50, 1.0), (1, 50, 1.0), (0, 60, 1.0), (0, 50, 0.5)):
        simulate([Spec(LinUCB, width_scale=scale)], WORLD, horizon=horizon, runs=1, seed=seed, out=tmp_path)
    assert len(list((tmp_path / "runs").iterdir())) == 4


def test_figures_are_drawn(tmp_path):
    result = simulate(SPECS, [WORLD, environments.tail()], horizon=300, runs=2, seed=0)
    for name in ("curves.png", "curves.svg"):
        figure.regret_curves(result.groups(), tmp_path / name)
        assert (tmp_path / name).stat().st_size > 5000
    figure.regret_curves(result.groups(), tmp_path / "log.png", title="On logarithmic axes", log=True)


@pytest.mark.parametrize(("count", "named"), [(8, False), (9, True)])
def test_more_curves_than_colours_have_their_names_at_their_ends(count, named):
    specs = [Spec(LinUCB, label=f"number {i}") for i in range(count)]
    groups = simulate(specs, WORLD, horizon=60, runs=1, seed=0).groups()
    axis = figure.subplots(1, 1)[1][0, 0]
    figure.draw_panel(axis, groups)
    figure.at_ends(axis) if named else None  # as a reproduction may: they are there once
    assert (axis.get_legend() is None) == named
    assert sorted(text.get_text() for text in axis.texts) == [spec.label for spec in specs] * named


def test_runs_with_other_delays_are_kept_apart(tmp_path):
    for delay in (None, "fixed:3", "fixed:3,never:0.1"):
        simulate([Spec(Uniform)], WORLD, horizon=50, runs=1, seed=0, out=tmp_path, delay=delay)
    assert len(list((tmp_path / "runs").iterdir())) == 3
