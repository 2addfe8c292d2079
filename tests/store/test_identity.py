"""What does not match is refused, and nothing is written."""

import pytest

from tacit.errors import BadState
from tests.store.places import linear


@pytest.mark.parametrize("format", [7, 9])
def test_a_database_of_another_format_is_refused(place, format):
    with place.open(linear()) as stored, stored._database.transaction() as run:
        run("UPDATE store_version SET version = ?", format)
    with pytest.raises(BadState, match=f"Expected a database of format 8, got format {format}"):
        place.open(linear())
