"""What the JavaScript device draws and computes, by its sources, in Node and in Chromium.

Laws: 10^5 draws of each from the engine's own generator. Each test has a false-alarm rate of 10^-9, and the same draws
are rejected by the law of 2/3 and of 3/2 the scale."""

import hashlib
import json
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.random import default_rng
from scipy import stats

from devices_tests.js import node, vectors
from reticent.model import links
from reticent.model.glm import largest_weight, line
from reticent_devices.mechanisms.randomizers import SHARE, tables

SOURCE = node.JS / "src"
DRAWS, SIGMA, TRIALS = 100_000, 2.0**20, 150
ALARM = 1e-9


def test_the_tables_of_the_caps_law_are_pythons(run, tmp_path):
    file = vectors.save({}, tmp_path / "nothing.json")
    expected = hashlib.sha256(b"".join(table.astype("<i2").tobytes() for table in tables())).hexdigest()
    assert run(SOURCE, "tables", file) == expected


def test_exponentials_are_within_4_ulp_and_tails_to_12_digits(run, tmp_path):
    rng, edges = default_rng(1), [k * math.log(2) / 2 for k in range(145)]
    q = [0.0, *edges, *np.nextafter(edges, 0), *rng.uniform(0, 50, 3000), *10 ** rng.uniform(-12, 0, 300)]
    t = [*rng.uniform(-6, 9, 500), *np.linspace(2.4, 2.6, 101), 30.0]
    told = run(
        SOURCE, "numbers", vectors.save({"q": [float(v) for v in q], "t": [float(v) for v in t]}, tmp_path / "q")
    )
    with localcontext() as exact:
        exact.prec = 50
        for at, found in zip(q, told["decay"], strict=True):
            true = (-Decimal(float(at))).exp()
            assert abs(Decimal(found) - true) <= 4 * Decimal(math.ulp(float(true)))
    for at, found in zip(t, told["tail"], strict=True):
        assert found == pytest.approx(0.5 * math.erfc(at / math.sqrt(2)), rel=1e-12)


@pytest.mark.parametrize("name", links.NAMES)
def test_links_are_pythons(name, tmp_path):
    at, link = [*np.linspace(-40, 40, 4001), 0.0, 1e-12, -1e-12], links.named(name)
    file = vectors.save(at, tmp_path / "at.json")
    script = f"""import {{ readFileSync }} from "node:fs";
import {{ LINKS }} from {json.dumps((SOURCE / "links.js").as_uri())};
const at = JSON.parse(readFileSync({json.dumps(str(file))}, "utf8"));
const {{ mean, slope, ...numbers }} = LINKS[{json.dumps(name)}];
console.log(JSON.stringify([at.map(mean), at.map(slope), numbers]));"""
    means, slopes, numbers = json.loads(node.run("node", "--input-type=module", "-e", script))
    assert means == pytest.approx(link.mean(at), rel=1e-12, abs=1e-15)  # tails: to 12 digits
    assert slopes == pytest.approx(link.slope(at), rel=1e-14, abs=1e-300)
    assert numbers == {"bounded": link.bounded, "largest": largest_weight(link), "softness": links.softness(link.code)}


@pytest.mark.parametrize("name", [name for name, link in links.BUILT_IN.items() if link.bounded])
def test_no_line_is_steeper_than_the_link_near_0_where_chords_are_mostly_rounding(name, tmp_path):
    """The weight of x = 1 at many predictors: at most the largest one in both devices, to the last digit."""
    at, link = np.linspace(1e-6, 1e-5, 2001)[1:], links.named(name)
    file, most = vectors.save([*at, *-at], tmp_path / "at.json"), largest_weight(link)
    script = f"""import {{ readFileSync }} from "node:fs";
import {{ linearized }} from {json.dumps((SOURCE / "model.js").as_uri())};
const at = JSON.parse(readFileSync({json.dumps(str(file))}, "utf8"));
const weight = (v) => linearized([1], 1, {{ link: {json.dumps(name)}, theta: [v], inverse: [[0]] }}, 1)[0];
console.log(JSON.stringify(at.map(weight)));"""
    told = json.loads(node.run("node", "--input-type=module", "-e", script))
    expected = [line(1.0, v, 1.0, 1.0, link.code, 1.0)[0] for v in (*at, *-at)]
    assert max(told) <= most and max(expected) <= most and told == pytest.approx(expected, abs=1e-9)


def test_draws_have_their_laws_and_no_others(run, tmp_path):
    chance, share = int(0.8 * SHARE), 0.3
    given = {"draws": DRAWS, "sigma": SIGMA, "trials": TRIALS, "chance": chance, "share": share}
    told = {
        name: np.array(drawn) for name, drawn in run(SOURCE, "laws", vectors.save(given, tmp_path / "laws")).items()
    }
    assert all(len(drawn) == DRAWS for drawn in told.values())

    def fits(drawn, law):
        return stats.kstest(drawn, law.cdf).pvalue > ALARM  # conservative for whole numbers

    for factor in (2 / 3, 1, 3 / 2):
        assert fits(told["gaussians"], stats.norm(0, factor * SIGMA)) == (factor == 1)
        assert fits(told["uniforms"], stats.uniform(0, factor)) == (factor == 1)
        assert fits(told["whole"], stats.randint(0, int(factor * 1_000_003))) == (factor == 1)
        middle, width = TRIALS / 2, factor * math.sqrt(TRIALS) / 2  # binomial: by its second moment
        z = ((((told["halves"] - middle) / width) ** 2).mean() - 1) / math.sqrt((2 - 2 / TRIALS) / DRAWS)
        assert (abs(z) < stats.norm.isf(ALARM / 2)) == (factor == 1)
    assert abs(told["halves"].mean() - TRIALS / 2) < stats.norm.isf(ALARM / 2) * math.sqrt(TRIALS / 4 / DRAWS)
    counts = np.bincount(told["halves"], minlength=TRIALS + 1)
    common = stats.binom(TRIALS, 0.5).pmf(np.arange(TRIALS + 1)) * DRAWS >= 20
    expected = stats.binom(TRIALS, 0.5).pmf(np.arange(TRIALS + 1))[common] * DRAWS
    assert stats.chi2.sf(((counts[common] - expected) ** 2 / expected).sum(), common.sum()) > ALARM
    p, ones = 0.8 * share + 0.2 * (1 - share), int(told["coins"].sum())
    for other in (p, 2 / 3 * p, 3 / 2 * p):
        assert (stats.binomtest(ones, DRAWS, other).pvalue > ALARM) == (other == p)
