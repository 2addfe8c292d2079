"""What form a bandit's arms have: vectors, or rows of blocks (model.arms)."""

from typing import Any

from tacit import checks


def form(bandit: Any) -> tuple[int, int]:
    """How many blocks arms have, and how many coordinates are shared beside them: those of the schema, if it has any,
    or of `blocks` and `shared`; (1, 0) where arms are vectors. ValueError if blocks are not of equal length, or not
    those of the schema."""
    if not hasattr(bandit, "blocks"):
        return 1, 0
    given = bandit.blocks, getattr(bandit, "shared", None)
    schema = bandit.features
    if schema is not None:
        placed = schema.blocks > 1 and (hasattr(bandit, "shared") or not schema.shared)
        made = (schema.blocks, schema.shared or None) if placed else (None, None)
        if given not in ((None, None), made):
            raise ValueError(
                f"Expected blocks={made[0]} and shared={made[1]} with these features, as their schema has it, got "
                f"blocks={given[0]} and shared={given[1]}."
            )
        bandit.blocks = made[0]
        if placed and schema.shared:
            bandit.shared = made[1]
        given = made
    if given == (None, None):
        return 1, 0
    if given[0] is None:
        raise ValueError("Expected blocks with shared, which is beside them, got none.")
    blocks, shared = given[0], 0 if given[1] is None else given[1]
    checks.positive_int(blocks=blocks)
    if given[1] is not None:
        checks.positive_int(shared=shared)
    if (bandit.dim - shared) % blocks or bandit.dim <= shared or (shared and blocks == 1):
        raise ValueError(
            f"Expected dim to be shared={shared} and a multiple of blocks={blocks} more, got {bandit.dim}."
        )
    return int(blocks), int(shared)
