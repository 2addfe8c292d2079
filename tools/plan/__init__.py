"""Simulations, and the fit of the formula of `tacit plan` to them: run from a clone, no part of the package."""
