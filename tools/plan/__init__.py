"""How far off `tacit plan` is: run from a clone, no part of the package."""
