"""The operating system's user that a server runs as: what one role keeps, another role's user cannot read."""

import os
import pwd


def become(user: str | int | None) -> None:
    """For ever, with that user's groups alone; None: whoever started it. A number needs no entry in the system's list
    of users. Files and folders that are made from now on are closed to others."""
    if user is None:
        return
    number, group = _found(user)
    if os.getuid() == number:
        return
    if os.getuid() != 0:
        raise ValueError("Expected to be started as root, or as [server] user itself, got another user.")
    os.umask(0o077)
    os.setgroups([])
    os.setgid(group)
    os.setuid(number)


def _found(user: str | int) -> tuple[int, int]:
    if isinstance(user, int):
        if not 0 < user < 2**31:
            raise ValueError("Expected [server] user to be a name or a number above 0, got another.")
        return user, user
    try:
        found = pwd.getpwnam(user)
    except KeyError:
        raise ValueError(f"Expected [server] user to be a user of this system, got {user}.") from None
    return found.pw_uid, found.pw_gid
