"""`reticent-two CONFIG`: leader and helper of the two-server model as processes."""
