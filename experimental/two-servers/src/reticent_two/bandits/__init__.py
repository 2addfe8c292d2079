"""Two aggregators, neither trusted alone."""
