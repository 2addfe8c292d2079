"""A shop's front page: each visitor is shown the message that reticent chooses, and may press its button much later.

The page keeps nothing: the choice's id travels in the form, and silence is a 0 after an hour (serve.toml). Who a
visitor is comes from a cookie that is signed, so that nobody can use up another's rounds."""

import contextlib
import datetime
import hmac
import html
import os
import secrets
import string
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from reticent.errors import ReticentError
from reticent_serve.service import AsyncClient

PAGE = string.Template((Path(__file__).parent / "page.html").read_text())
MESSAGES = {  # those of serve.toml: name -> title, text, button
    "delivery": ("Delivered free this week", "Order until Sunday, and the postman is on us.", "Browse the shelves"),
    "reading": ("An evening of poems", "Thursday at seven, between the shelves, with tea.", "Keep me a chair"),
    "circle": ("Join the reading circle", "One novel a month, and people who finished it.", "Show me this month's"),
    "surprise": ("A book chosen for you", "Tell us three you loved; we post the fourth.", "Surprise me"),
}
THANKS = '<h1>Good choice.</h1><p>$noted</p><p><a href="/">Back to the shop</a></p>'
SECRET = os.environ.get("SECRET", secrets.token_hex()).encode()  # set it, or every restart has new visitors

client = AsyncClient(
    os.environ.get("RETICENT", "http://127.0.0.1:8321"),
    "shop",
    key=os.environ.get("RETICENT_KEY"),
    timeout=5,
    patience=1,
)


def signed(visitor):
    return f"{visitor}.{hmac.new(SECRET, visitor.encode(), 'sha256').hexdigest()}"


def known(cookie):
    """Who has that cookie; somebody new if it is not one of ours."""
    visitor = cookie.partition(".")[0]
    return visitor if hmac.compare_digest(signed(visitor).encode(), cookie.encode()) else secrets.token_urlsafe(16)


async def front(request):
    visitor = known(request.cookies.get("visitor", ""))
    fields = {"device": "phone" if "mobile" in request.headers.get("user-agent", "").lower() else "desk"}
    try:  # one choice for a visitor's day: a reload has the same answer, and counts once
        choice = await client.choose(context=fields, request=f"{visitor} {datetime.date.today()}", person=visitor)
        name, form = choice.name, f"/go/{choice.id}"
    except ReticentError:  # the page is there without reticent, too
        name, form = "delivery", "/go/"
    title, text, button = map(html.escape, MESSAGES[name])
    body = f'<h1>{title}</h1><p>{text}</p><form method="post" action="{form}"><button>{button}</button></form>'
    out = HTMLResponse(PAGE.substitute(body=body), headers={"cache-control": "no-store"})
    out.set_cookie("visitor", signed(visitor), max_age=365 * 86400, httponly=True, samesite="lax")
    return out


async def go(request):
    """The button: a POST, which no browser sends ahead. Pressed twice, it counts once."""
    noted = "We could not note it this time."
    if "id" in request.path_params:  # none where reticent was away when the page was made
        with contextlib.suppress(ReticentError):
            in_time = await client.reward(request.path_params["id"], 1.0)
            noted = (
                "Noted, without your name." if in_time else "It was too long ago to note it."
            )  # window, in serve.toml
    return HTMLResponse(PAGE.substitute(body=string.Template(THANKS).substitute(noted=noted)))


@contextlib.asynccontextmanager
async def lifespan(_):
    async with client:
        yield


app = Starlette(
    routes=[Route("/", front), Route("/go/", go, methods=["POST"]), Route("/go/{id}", go, methods=["POST"])],
    lifespan=lifespan,
)

if __name__ == "__main__":  # without an access log: who pressed what is theirs
    uvicorn.run(app, port=int(os.environ.get("PORT", "8000")), access_log=False)
