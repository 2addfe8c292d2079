"""A page that shows one of six messages, and learns from clicks. docs/tutorial.md explains it."""

import hmac
import html
import os
import secrets
from contextlib import asynccontextmanager, suppress
from datetime import datetime

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse

from reticent.errors import ReticentError
from reticent_serve.service import AsyncClient

MESSAGES = {  # the actions of serve.toml
    "welcome": "Good to see you. Look around.",
    "discount": "10 % off everything until Sunday.",
    "news": "Twelve new things since last week.",
    "story": "How all this is made, in three minutes.",
    "friends": "Bring a friend, and both get a present.",
    "survey": "What should we do better? Tell us.",
}
SECRET = os.environ.get("SECRET", secrets.token_hex()).encode()  # set it, or every restart has new visitors
client = AsyncClient(os.environ.get("RETICENT", "http://127.0.0.1:8321"), "messages", patience=1)


@asynccontextmanager
async def lifespan(_):
    async with client:
        yield


app = FastAPI(lifespan=lifespan)


def signed(visitor):
    return f"{visitor}.{hmac.new(SECRET, visitor.encode(), 'sha256').hexdigest()}"


def whose(cookie):
    """The visitor with that cookie; somebody new if it is not one of ours."""
    visitor = cookie.partition(".")[0]
    return visitor if hmac.compare_digest(signed(visitor).encode(), cookie.encode()) else secrets.token_urlsafe(16)


@app.get("/", response_class=HTMLResponse)
async def front(request: Request):
    visitor, now = whose(request.cookies.get("visitor", "")), datetime.now()
    context = {
        "device": "phone" if "Mobile" in request.headers.get("user-agent", "") else "desk",
        "hour": now.hour + now.minute / 60,
        "language": request.headers.get("accept-language", "")[:2] or None,
    }
    try:
        choice = await client.choose(context=context, person=visitor, request=f"{visitor} {now.date()}")
        name, link = choice.name, f"/click/{choice.id}"
    except ReticentError:  # reticent is away: the page is there all the same
        name, link = "welcome", "/click/none"
    button = f'<form method="post" action="{link}"><button>Show me</button></form>'
    page = HTMLResponse(f"<!doctype html><title>Messages</title><h1>{html.escape(MESSAGES[name])}</h1>{button}")
    page.set_cookie("visitor", signed(visitor), httponly=True, samesite="lax", max_age=365 * 86400)
    return page


@app.post("/click/{choice}", response_class=HTMLResponse)
async def click(choice: str):
    with suppress(ReticentError):  # a click that cannot be noted is no reason for an error page
        await client.reward(choice, 1.0)
    return "<!doctype html><title>Messages</title><h1>Here you are.</h1>"
