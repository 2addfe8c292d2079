"""Rewards for OpenFeature. Its clients of the remote evaluation protocol (OFREP) evaluate flags, which are choices of
reticent, and do not say what came of them."""

from typing import Any, TypeVar

from reticent_serve.service.client import Client

P = TypeVar("P")


def rewarding(provider: P, address: str, *, key: str | None = None, timeout: float = 10.0, patience: float = 30.0) -> P:
    """The same provider, with a `track` that reports rewards: `client.track(flag, tracking_event_details=
    TrackingEventDetails(1.0, {"id": details.flag_metadata["id"]}))`. The reward is on the server's disk when that
    returns; errors, `timeout` and `patience` are those of reticent_serve.service.Client. Events of other names that
    have no id are none of reticent's, and are ignored. Needs nothing of OpenFeature."""
    evaluated: set[str] = set()  # flags: their names, and nothing of a person
    given: Any = provider
    resolve = given.resolve_string_details

    def resolve_string_details(flag_key: str, *args: Any, **kwargs: Any) -> Any:
        evaluated.add(flag_key)
        return resolve(flag_key, *args, **kwargs)

    def track(tracking_event_name: str, evaluation_context: Any = None, tracking_event_details: Any = None) -> None:
        choice = getattr(tracking_event_details, "attributes", {}).get("id")
        if choice is None and tracking_event_name not in evaluated:
            return
        value = getattr(tracking_event_details, "value", None)
        if not isinstance(choice, str) or value is None:
            raise ValueError('Expected TrackingEventDetails(reward, {"id": flag_metadata["id"]}), got others.')
        with Client(address, tracking_event_name, key=key, timeout=timeout, patience=patience) as client:
            client.reward(choice, value)

    given.resolve_string_details, given.track = resolve_string_details, track
    return provider
