"""Secret sharing with a proof: what two aggregators need to add up numbers that neither of them may see."""
