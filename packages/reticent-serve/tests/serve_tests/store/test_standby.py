"""Real failovers of PostgreSQL: a base backup that is restored, a replica that lags, one that does not."""

import contextlib
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from reticent.errors import RolledBack
from serve_tests.store.clusters import Cluster
from serve_tests.store.conftest import MEMORY
from serve_tests.store.places import Place, arms, glm, play, restored, table


@pytest.fixture
def primary():
    """A server of the test's own, beside which others may be made."""
    top = Path(tempfile.mkdtemp(prefix="reticent-cluster-", dir=MEMORY))
    top.chmod(0o755)
    yield Cluster(top / "primary").make()
    for folder in top.iterdir():
        if (folder / "postmaster.pid").exists():
            with contextlib.suppress(OSError):
                Cluster(folder).stop()
    shutil.rmtree(top)


def beside(primary, name):
    return Cluster(primary.folder.parent / name)


def refused_and_restored(place, old):
    with pytest.raises(RolledBack):
        place.open(glm())
    restored(place, glm())
    with place.open(glm()) as stored:
        assert stored.observe(old.id, 1.0) is False
        assert any("Restored from a backup" in caveat for caveat in stored.privacy.caveats)
        play(stored, np.random.default_rng(9), 12, together=12)
        assert stored.version == 1


def test_a_base_backup_is_refused_and_restored_from(primary, folder):
    rng, place = np.random.default_rng(0), Place(primary.address, folder / "keys")
    with place.open(glm()) as stored:
        play(stored, rng, 12, together=12)
        backup = beside(primary, "backup").copy(primary)
        old = play(stored, rng, 12, prefix="s", together=12)[-1]
        assert stored.version == 2
    primary.stop()
    backup.start()
    refused_and_restored(place._replace(where=backup.address), old)


@pytest.mark.full
@pytest.mark.parametrize("lags", [True, False])
def test_workers_go_on_after_a_failover_unless_the_replica_lags(primary, folder, lags):
    """The worker finds the new primary, or refuses it, and draws no noise for a step that was shown."""
    rng, replica = np.random.default_rng(1), beside(primary, "replica").copy(primary, "--write-recovery-conf").start()
    hosts = f"postgresql://postgres@/postgres?host={primary.sockets},{replica.sockets}&target_session_attrs=read-write"
    place = Place(hosts, folder / "keys")
    with place.open(glm()) as stored:
        play(stored, rng, 12, together=12)
        replica.wait_for(primary)
        if lags:
            replica.stop("fast")
        old = play(stored, rng, 12, prefix="s", together=12)[-1]
        assert stored.version == 2
        if not lags:
            replica.wait_for(primary)
        primary.stop()
        if lags:
            replica.start()
        replica.promote()
        if lags:
            for call in (stored.tend, lambda: stored.choose(arms(rng)), lambda: stored.observe(old, 1.0)) * 2:
                with pytest.raises(RolledBack):
                    call()
            assert table(stored, "SELECT step FROM leaf") == [(0,)]
        else:
            assert stored.choose(arms(rng), request="s11").id == old.id and stored.version == 2
            play(stored, rng, 12, prefix="t", together=12)
            assert stored.version == 3 and stored._store.witness.read().timeline == 2
    if lags:
        refused_and_restored(place, old)


@pytest.mark.full
def test_a_replica_that_lacks_the_last_choices_alone_goes_on_until_one_of_them_comes_back(primary, folder):
    """It has all that was shown, so the witness accepts it; a reward for a choice that is lost does not."""
    rng, replica = np.random.default_rng(2), beside(primary, "replica").copy(primary, "--write-recovery-conf").start()
    hosts = f"postgresql://postgres@/postgres?host={primary.sockets},{replica.sockets}&target_session_attrs=read-write"
    place = Place(hosts, folder / "keys")
    with place.open(glm()) as stored:
        play(stored, rng, 17, together=17)
        replica.wait_for(primary)
        replica.stop("fast")
        lost = [stored.choose(arms(rng)) for _ in range(6)]
        primary.stop()
        replica.start()
        replica.promote()
        assert stored.choices == 17 and stored.version == 1
        stored._clock.now += 1.0
        play(stored, rng, 2, prefix="more", together=2)
        for choice in lost:
            with pytest.raises(RolledBack):
                stored.observe(choice, 1.0)
        assert table(stored, "SELECT step FROM leaf") == [(0,)]
    refused_and_restored(place, lost[-1])
