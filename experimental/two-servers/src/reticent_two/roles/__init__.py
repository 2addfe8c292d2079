"""Two aggregators, neither trusted alone: what they and devices agree on, the device, and the bytes between them."""
