"""What form a bandit's arms have: vectors, or rows of blocks (model.arms)."""

from typing import Any

from tacit import checks


def form(bandit: Any) -> int:
    """How many blocks arms have: those of the schema, if it has any, or of `blocks`; 1 where arms are vectors.
    ValueError if blocks are not of equal length, or not those of the schema."""
    if not hasattr(bandit, "blocks"):
        return 1
    if bandit.features is not None:
        made = bandit.features.blocks if bandit.features.blocks > 1 else None
        if bandit.blocks not in (None, made):
            raise ValueError(
                f"Expected blocks={made} with these features, as their schema has it, got blocks={bandit.blocks}."
            )
        bandit.blocks = made
    if bandit.blocks is None:
        return 1
    checks.positive_int(blocks=bandit.blocks)
    if bandit.dim % bandit.blocks:
        raise ValueError(f"Expected dim to be a multiple of blocks={bandit.blocks}, got {bandit.dim}.")
    return int(bandit.blocks)
