"""What a trial says, in words: ends of intervals are rounded outwards."""

from reticent_serve.service import words
from reticent_serve.service.words import Unit
from reticent_serve.trials.bounds import Interval
from reticent_serve.trials.trial import trial
from serve_tests.trials.test_trial import HELLO, PEOPLE, YES, sums


def test_the_sentences():
    said = words.whole(trial(sums(HELLO, PEOPLE, (0.712, 0.5))), "with “hello”", YES)
    assert said == (
        "Of 100 people, 21 more said yes than with “hello” (between 16 and 27). You may look whenever you like: this "
        "has been certain enough (95\u202f%) since person 2\u202f000. The holdout has cost about 340 yeses."
    )
    said = words.whole(trial(sums(HELLO, PEOPLE[:3], (0.6, 0.5))), "with “hello”", YES, more=16_240, width=0.05)
    assert said == (
        "Not known yet: between 25 fewer and 45 more of 100 people say yes than with “hello”; 5 points either way take "
        "about 16\u202f000 more people."
    )
    worse = words.whole(trial(sums(HELLO, PEOPLE, (0.4, 0.5), rewards=(0.0, 20.0))), "with “hello”", (0.0, 20.0))
    assert worse.startswith("On average 2.0 less for a choice than with “hello” (between ")
    assert "has brought about 3\u202f200 in rewards more" in worse
    rare = words.verdict(trial(sums(HELLO, [10**6], (0.03, 0.02))), "before", YES)
    assert rare == "Of 1\u202f000 people, 10 more said yes than before (between 8 and 12)."


def test_ends_are_rounded_outwards():
    for low, high, said in [
        (0.101, 0.299, "10 and 30"),
        (0.1, 0.3, "10 and 30"),
        (0.1999, 0.2001, "1\u202f999 and 2\u202f001"),
    ]:
        one = trial(sums(HELLO, PEOPLE, (0.7, 0.5)))._replace(low=low, high=high)
        assert f"between {said})" in words.verdict(one, "before", YES)
    assert words.mean(Interval(0.414, 0.361, 0.459), Unit(100, 0)) == "41 of 100 people (36 to 46)"
    assert words.mean(Interval(-0.5, -1.04, 0.1), Unit.of(1.14, (-1.0, 3.0))) == "−0.5 (−1.1 to 0.1)"
    assert [words.about(number) for number in (0.3, 4.0, 368.0, 16_240.0)] == ["0.3", "4", "370", "16\u202f000"]
    assert words.wanted(0.3, YES) == 0.05 and words.wanted(0.03, YES) == 0.02
    assert words.still(7000, 0.01, YES) == "1 point either way takes about 7\u202f000 more people"
    assert words.still(None, 0.5, (0.0, 20.0)) == "0.5 either way takes more than a billion people"
