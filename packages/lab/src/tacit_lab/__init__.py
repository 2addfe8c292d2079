"""What tests the bandits: audits, worlds, evaluation, the arena."""
