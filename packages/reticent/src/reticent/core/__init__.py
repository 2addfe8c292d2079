"""The rules of the joint model, written once: requests, limits, entries, estimates and what may be shown."""
