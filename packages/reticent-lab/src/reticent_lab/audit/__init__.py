"""Attempts to break the claims: canaries, scores, honest bounds, and planted bugs that must be found."""

from reticent_lab.audit.attack import Attack
from reticent_lab.audit.catalogue import all_attacks, named
from reticent_lab.audit.verdict import Row, carry_out, carry_out_all

__all__ = ["Attack", "Row", "all_attacks", "carry_out", "carry_out_all", "named"]
