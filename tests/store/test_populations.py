"""What all bandits of a population cost together: whatever is retired, deleted, recovered or taken away later."""

import math
import os
import shutil

import numpy as np
import pytest

from tacit import Budget, Stored, recover
from tacit.errors import BadState, RolledBack
from tacit.holders.retirement import retire
from tacit.privacy import gaussian
from tests.store.places import BUDGET, glm, linear, play, table


def epsilon(*mus):
    """Gaussian mechanisms compose by the root of the sum of squares."""
    return pytest.approx(gaussian.epsilon(math.hypot(*mus), BUDGET.delta), rel=1e-3)


MU = gaussian.mu(BUDGET)


def test_bandits_of_a_population_cost_together(place):
    with place.open(glm(), name="one", population="visitors") as stored:
        alone = stored.population
        assert alone.bandits == ("one",) and alone.epsilon == epsilon(MU) and alone.unrecorded == ()
        assert not any("population" in caveat for caveat in stored.privacy.caveats)
    place.open(glm(), name="elsewhere", population="others").close()
    with place.open(glm(budget=Budget(2.0, 1e-4)), name="two", population="visitors") as stored:
        found = stored.population
        assert found.bandits == ("one", "two") and found.delta == 1e-5
        assert found.epsilon == epsilon(MU, gaussian.mu(Budget(2.0, 1e-4)))
        (caveat,) = [caveat for caveat in stored.privacy.caveats if "population" in caveat]
        assert "2 bandits on record (one, two)" in caveat and f"epsilon {found.epsilon:.4g}" in caveat
        assert found.neighbours == "replace" and "(neighbours: replace)" in caveat
    with place.open(glm(), name="one", population="friends") as stored:  # another one: it stays in the first, too
        assert stored.population.bandits == ("one",)
    with place.open(glm(), name="one", population="visitors") as stored:
        assert stored.population.bandits == ("one", "two")


def test_bandits_for_two_relations_are_not_in_one_population(place):
    zero_out = Budget(1.0, 1e-5, "zero-out")
    place.open(glm(), name="one").close()
    with pytest.raises(ValueError, match="for one neighbouring relation.* a population of its own"):
        place.open(glm(budget=zero_out), name="two")
    with place.open(glm(), name="one") as stored:
        assert stored.population.bandits == ("one",) and stored.population.unrecorded == ()
    with place.open(glm(budget=zero_out), name="two", population="others") as stored:
        assert stored.population.epsilon == epsilon(MU) and stored.privacy.neighbours == "zero-out"
        assert stored.population.neighbours == "zero-out"
    with place.open(glm(budget=zero_out), name="three", population="others") as stored:
        assert any("(neighbours: zero-out)" in caveat for caveat in stored.privacy.caveats)


def test_of_a_bandit_without_a_limit_one_round_is_counted_and_that_is_said(place):
    """Three rounds of one person cost three times as much there: nothing may claim them."""
    place.open(glm(max_rounds_per_person=3), name="limited").close()
    with place.open(glm(), name="free") as stored:
        found = stored.population
        assert found.epsilon == epsilon(MU, MU) and found.unlimited == ("free",)
        (caveat,) = [caveat for caveat in stored.privacy.caveats if "population" in caveat]
        assert "in all of them, with one round in each of free (which have no limit" in caveat
    with place.open(glm(max_rounds_per_person=2), name="one", population="counted") as stored:
        assert stored.population.unlimited == ()
    with place.open(glm(max_rounds_per_person=5), name="two", population="counted") as stored:
        (caveat,) = [caveat for caveat in stored.privacy.caveats if "population" in caveat]
        assert "in all of them has epsilon" in caveat


def test_a_deleted_file_that_is_made_anew_adds(folder):
    where = folder / "bandit.db"

    def made():
        with Stored(glm(), where, background=False, hold=5.0) as stored:
            return stored.population

    assert made().epsilon == epsilon(MU)
    where.unlink()
    again = made()  # the folder of keys was left
    assert again.bandits == ("bandit", "bandit") and again.epsilon == epsilon(MU, MU)
    where.unlink()
    shutil.rmtree(folder / "bandit.db.keys")
    assert made().epsilon == epsilon(MU, MU, MU)  # nothing but the register was left
    with Stored(linear(), folder / "another.db", background=False, hold=5.0) as stored:  # another name, beside it
        assert stored.population.epsilon == epsilon(MU, MU, MU, MU)


def test_a_file_that_is_made_anew_after_a_release_needs_a_recovery_and_adds(on_sqlite):
    with on_sqlite.open(glm()) as stored:
        play(stored, np.random.default_rng(0), 12, together=12)
    os.unlink(on_sqlite.where)
    with pytest.raises(RolledBack):
        on_sqlite.open(glm())
    recover(glm(), on_sqlite.where, keys=on_sqlite.keys)
    with on_sqlite.open(glm()) as stored:
        assert stored.population.epsilon == epsilon(MU, MU)


def test_rows_that_a_restore_has_lost_are_in_the_file_and_the_other_way_round(place):
    place.open(glm(), name="one").close()
    with place.open(glm(), name="two") as stored:
        table(stored, "DELETE FROM member")
        assert stored.population.epsilon == epsilon(MU, MU)
    with place.open(glm(), name="two") as stored:
        assert len(table(stored, "SELECT line FROM member")) == 2
        (place.keys / "tacit-populations.jsonl").unlink()
        assert stored.population.epsilon == epsilon(MU, MU)
    with place.open(glm(), name="two") as stored:
        assert len((place.keys / "tacit-populations.jsonl").read_text().splitlines()) == 2
        table(stored, "DELETE FROM member WHERE record LIKE ?", '%"name":"one"%')
        (place.keys / "tacit-populations.jsonl").unlink()
        found = stored.population
        assert found.unrecorded == ("one",) and found.epsilon == epsilon(MU)  # and it says so
        assert any("with it; one." in caveat for caveat in stored.privacy.caveats)


def test_a_recovery_counts_once_for_a_round_and_again_for_a_person(place):
    for name, limit, expected in (("rounds", None, (MU,)), ("persons", 3, (MU, MU))):

        def made(limit=limit):
            return glm(max_rounds_per_person=limit)

        place.open(made(), name=name, population=name).close()
        recover(made(), place.where, name=name, keys=place.keys)
        with place.open(made(), name=name, population=name) as stored:
            found = stored.population
            assert found.bandits == (name,) and found.epsilon == epsilon(*expected)


def test_a_recovery_with_another_budget_is_refused(place):
    """Else the certificate would claim the new noise for those who had the old."""
    place.open(glm()).close()
    with pytest.raises(BadState, match="got another budget"):
        recover(glm(budget=Budget(0.5, 1e-5)), place.where, keys=place.keys)


def test_a_retired_bandit_stays_in_its_population(place):
    place.open(glm(), name="one").close()
    retire(place.where, name="one", keys=place.keys)
    with place.open(glm(), name="two") as stored:
        assert stored.population.bandits == ("one", "two") and stored.population.epsilon == epsilon(MU, MU)


def test_bandits_that_are_not_on_record_are_named_until_they_are_opened(place):
    """As those of early versions, which kept none."""
    with place.open(linear()) as stored:
        table(stored, "DELETE FROM member")
    (place.keys / "tacit-populations.jsonl").unlink()
    with place.open(linear(), name="new") as stored:
        assert stored.population.unrecorded == ("bandit",)
    place.open(linear()).close()
    with place.open(linear(), name="new") as stored:
        assert stored.population.unrecorded == () and stored.population.bandits == ("bandit", "new")


def test_a_line_that_was_not_finished_is_written_again(on_sqlite):
    on_sqlite.open(glm()).close()
    path = on_sqlite.keys / "tacit-populations.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    on_sqlite.open(glm()).close()
    assert path.read_bytes() == whole
    path.write_bytes(b"{}\n" + whole)
    with pytest.raises(BadState, match="damaged"):
        on_sqlite.open(glm())


def test_releases_without_a_relation_are_those_of_old_gaussian_noise_alone(on_sqlite):
    """Before 0.5.0 every release was for replacing users and none said so. Another kind without one is no register's:
    it would be counted for a relation that nobody has stated."""
    on_sqlite.open(glm()).close()
    path = on_sqlite.keys / "tacit-populations.jsonl"
    whole = path.read_bytes()
    assert b',"relation":"replace"' in whole
    path.write_bytes(whole.replace(b',"relation":"replace"', b""))
    with on_sqlite.open(glm()) as stored:
        assert stored.population.neighbours == "replace"
    with pytest.raises(ValueError, match="one neighbouring relation"):
        on_sqlite.open(glm(contexts="public"), name="other")
    path.write_bytes(whole.replace(b',"relation":"replace"', b"").replace(b'"gaussian"', b'"local"'))
    with pytest.raises(BadState, match="damaged"):
        on_sqlite.open(glm())


def test_many_who_open_at_once_are_all_on_record(on_postgres):
    """Processes: each adds its line to the same file and the same table."""
    children = []
    for n in range(4):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                on_postgres.open(glm(), name=f"b{n}").close()
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    with on_postgres.open(glm(), name="b0") as stored:
        assert stored.population.bandits == ("b0", "b1", "b2", "b3")
        assert len(table(stored, "SELECT line FROM member")) == 4
    assert len((on_postgres.keys / "tacit-populations.jsonl").read_text().splitlines()) == 4
