"""Mechanisms of continual release that the core does not need: to compare with, and for papers."""
