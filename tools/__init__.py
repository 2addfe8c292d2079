"""What maintainers run from a clone; no part of the package."""
