"""Interruptions at every instruction of a call, as a signal's handler that raises makes them: Ctrl-C, or a timer.
Python runs handlers between its own instructions, never within a compiled kernel."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import reticent

PACKAGE = str(Path(reticent.__file__).parent)


class Interrupted(BaseException):
    pass


def interruptions(act: Callable[[], object], every: int = 1) -> Iterator[int]:
    """Calls `act` until it comes to its end, each time interrupted so many instructions of the package later."""
    at = 0
    while _interrupted(act, at):
        yield at
        at += every


def _interrupted(act, at):
    left = at

    def trace(frame, event, _):
        nonlocal left
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            if left == 0:
                raise Interrupted
            left -= 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    except Interrupted:
        return True
    finally:
        sys.settrace(before)
    return False
