"""What people are offered before the first release, and until when: a sentence for the status and the dashboard, of
public numbers alone."""

from typing import Any

from tacit import durations
from tacit.service.config import BanditSetting
from tacit.service.words import count, counted, date


def sentence(setting: BanditSetting, status: dict[str, Any]) -> str | None:
    """None from the first release on, and of a bandit that was retired."""
    if status["version"] > 0 or status["retired"]:
        return None
    size, made, entered, due = (status[name] for name in ("next_release_after", "choices", "entered", "due_at"))
    since = "since the restore" if status["predecessors"] else "so far"
    start = f"Nothing has been released {since}. People get {_offered(setting, status)} until"
    if due is not None:
        return f"{start} about {date(due)}, when the first step of {counted(size, 'choice')} counts."
    return (
        f"{start} the first step of {counted(size, 'choice')} counts. Made so far: {count(made)}; counted so far: "
        f"{count(entered)}. A choice counts {durations.words(status['window'])} after it was made."
    )


def _offered(setting: BanditSetting, status: dict[str, Any]) -> str:
    if status["predecessors"]:
        return "arms by what was released before it"
    known = setting.warm_start is not None
    return "arms by what was known at the start" if known else "random arms"
