"""How far off `reticent plan` is: run from a clone, no part of the package."""
