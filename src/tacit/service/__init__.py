"""Bandits over HTTP: `tacit serve`, and the client that asks it. What the server needs is in the extra `service`."""

from tacit.service.client import Client

__all__ = ["Client"]
