"""Times in words: what they are in seconds and in days, and which texts are none."""

import pytest

from reticent import durations


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("1 second", 1.0), ("10 minutes", 600.0), ("1.5 hours", 5400.0), ("2 days", 172800.0), ("1 week", 604800.0)],
)
def test_a_text_is_as_many_seconds_and_said_the_same_way(given, seconds):
    assert durations.seconds(given, "hold") == seconds and durations.words(seconds) == given
    assert durations.days(given) == pytest.approx(seconds / 86400, rel=1e-15)


def test_a_number_is_seconds_already():
    assert durations.seconds(0.25, "hold") == 0.25 and durations.words(0.25) == "0.25 seconds"
    assert durations.words(100.0) == "100 seconds" and durations.words(36 * 3600.0) == "1.5 days"
    assert durations.words(1234567.0) == "1234567 seconds" and durations.words(86399.95) == "86399.95 seconds"


def test_days_are_not_rounded():
    """A bandit that was made to forget in 7.3 days finds the same number of rounds in its database."""
    assert all(durations.days(f"{n / 10} days") == n / 10 for n in range(1000))


@pytest.mark.parametrize(
    "wrong", ["", "2", "2h", "an hour", "-1 days", "1e3 seconds", "1 day 2 hours", " 1 day", "2 Hours"]
)
def test_other_texts_are_refused(wrong):
    assert durations.days(wrong) is None
    with pytest.raises(ValueError, match='Expected hold to be a number, or a time as "90 seconds".*another form'):
        durations.seconds(wrong, "hold")
