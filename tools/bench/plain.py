"""What `reticent bench serve` compares with: the same bandit over the same HTTP, without noise, database and keys."""

import math
import sys
from typing import Any

import uvicorn

from reticent import Bandit, Budget, JointGLM
from reticent_serve.service import bodies, hot
from reticent_serve.service.app import respond
from reticent_serve.service.hot import Receive, Scope, Send


class PlainService:
    """ASGI: choices and rewards in memory, each at once."""

    def __init__(self, dim: int) -> None:
        self._bandit = Bandit(JointGLM(dim, Budget(math.inf, 1e-6)))
        self._bandit.warm_up()
        self._waiting: dict[str, Any] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await hot.whole(scope, receive, most=10**6, patience=10.0)
        answer = self._reward if scope["path"].endswith("/reward") else self._choose
        out = b"\n".join(answer(line) for line in body.split(b"\n"))
        await respond(send, 200, out, hot.LINES)

    def _choose(self, line: bytes) -> bytes:
        given = bodies.choose(line)
        choice = self._bandit.choose(given.arms)
        self._waiting[given.request] = choice
        return bodies.encode(bodies.Chosen(choice.index, choice.name, given.request))

    def _reward(self, line: bytes) -> bytes:
        given = bodies.reward(line)
        self._bandit.observe(self._waiting.pop(given.id), given.reward)
        return hot.ACKNOWLEDGED


class PlainServer(uvicorn.Server):
    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        print(f"Serving on http://127.0.0.1:{self.servers[0].sockets[0].getsockname()[1]}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    app = PlainService(int(sys.argv[1]))
    PlainServer(uvicorn.Config(app, port=0, log_config=None, access_log=False, ws="none", lifespan="off")).run()
