"""The only code that turns Raw into Released: continual release of sums, single queries, the shuffled sum, and the
randomizers of devices (which need numpy alone: import what you need from its own module)."""
