"""How many people until it is useful: simulations, a formula that was fitted to them, and what follows from it."""
