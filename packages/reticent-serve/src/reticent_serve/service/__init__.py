"""Bandits over HTTP: `reticent serve`, and the clients that ask it. What the server needs is in the extra `service`."""

from reticent_serve.service.async_client import AsyncClient
from reticent_serve.service.calls import Refused, ServedChoice
from reticent_serve.service.client import Client

__all__ = ["AsyncClient", "Client", "Refused", "ServedChoice"]
