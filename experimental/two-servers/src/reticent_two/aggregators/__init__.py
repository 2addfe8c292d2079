"""The two parties of the two-server model, each with a store of its own; without a network: bytes in, bytes out."""
