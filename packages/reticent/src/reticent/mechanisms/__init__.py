"""The only code that opens Raw and turns it into Released: continual release of sums, single queries, the shuffled sum,
and the randomizers of devices (which need numpy alone: import what you need from its own module)."""
