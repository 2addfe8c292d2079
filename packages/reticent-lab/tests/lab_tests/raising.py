"""What a call raises."""

import pytest


def raised(kind, call, /, *arguments, **options):
    """What was caught, as `pytest.raises` gives it: `.match(words)` asserts what it says."""
    with pytest.raises(kind) as caught:
        call(*arguments, **options)
    return caught
