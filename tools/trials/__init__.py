"""Whether intervals of trials hold at every look: simulated sums with the noise that a bandit has."""
