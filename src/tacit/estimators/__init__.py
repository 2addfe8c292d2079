"""From released statistics to a parameter: post-processing only."""
