"""Who is in which population, as it was recorded."""

from tacit.holders.database import Run


def join(run: Run, population: str, line: str, incarnation: int, record: str) -> None:
    run(
        "INSERT INTO member (population, line, incarnation, record) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        population,
        line,
        incarnation,
        record,
    )


def recorded(run: Run) -> list[str]:
    return [str(record) for (record,) in run("SELECT record FROM member")]
