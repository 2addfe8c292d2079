"""Experiments that one may stop: what a holdout says, with intervals that hold at every look.

groups: who is compared with whom, and how far chance moves each mean. looks: after which releases one looks. bounds,
rare, coins: intervals. trial: all of it, from released sums. waits: how many people an answer takes."""
