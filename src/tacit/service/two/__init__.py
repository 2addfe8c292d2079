"""`tacit serve aggregator`: leader and helper of the two-server model as processes."""
