"""How many people until it is useful: simulations, and what follows from them."""
