"""Published algorithms, beside tacit's own."""
