"""Bandits over HTTP: `tacit serve`, and the clients that ask it. What the server needs is in the extra `service`."""

from tacit.service.async_client import AsyncClient
from tacit.service.calls import Refused, ServedChoice
from tacit.service.client import Client

__all__ = ["AsyncClient", "Client", "Refused", "ServedChoice"]
