"""What is said of a claim where neither of two aggregators is trusted alone; the core's certificates find it by the
name of the model."""

from reticent.privacy import words

TWO_SERVERS = "two-server"
BOTH = (
    "If the operator and the helper work together, or somebody takes what both have stored, nothing is left of the "
    "promise: each of the two runs a server that holds one share of people's data."
)
AGAINST = (
    "Against the helper the claim is ({:.4g}, {:g}): somebody who sees what the helper sees is right at most {} of the "
    "time."
)
REVIEW = (
    "The cryptography (reticent_two.vdaf, reticent_two.roles) has not been reviewed by anybody outside. Have it "
    "reviewed before people's data rest on it."
)
PAGE = (
    "On a web page that the operator serves, an operator who changes the page reads what its visitors send: there the "
    "promise holds against the helper, against theft from one server, and against an operator who keeps to it. "
    "An installed program that the operator cannot change has it against the operator, too."
)
STAYS = (
    "Each server keeps its share of the sums of the last {} steps, which later releases need, and its keys for a day: "
    "whoever takes both servers' shares has these sums without noise."
)
words.SEEN[TWO_SERVERS] = "all that others and the operator ever see"
words.TRUST[TWO_SERVERS] = (
    f"{BOTH} This rests on who is trusted: not the operator, and not the helper, but that the two do not work together "
    "and that the program on the person's device is one that the operator cannot change."
)
NOISE = "each aggregator's own, secure (discrete Gaussian, exact; its operating system's)"
