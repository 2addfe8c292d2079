"""Commands for whoever runs a bandit."""
