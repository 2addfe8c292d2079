"""One file per algorithm, reading like its pseudo-code."""
