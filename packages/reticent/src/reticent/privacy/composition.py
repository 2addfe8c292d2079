"""Composition beyond Gaussians, by dp-accounting: an extra, imported when it is used (that takes a second)."""

from reticent import checks, extras


def repeated_epsilon(epsilon0: float, delta0: float, count: int, delta: float) -> float:
    """epsilon at delta of `count` adaptive (epsilon0, delta0)-private mechanisms, by dp-accounting.

    Pessimistic: its privacy loss distribution is rounded up, on a grid of epsilon0 / 1000 per mechanism."""
    checks.probability(delta=delta, delta0=delta0)
    checks.positive_int(count=count)
    pld = extras.load(
        "dp_accounting.pld.privacy_loss_distribution", "composition beyond Gaussians", extra="composition"
    )
    one = pld.from_privacy_parameters(
        pld.common.DifferentialPrivacyParameters(epsilon0, delta0), value_discretization_interval=epsilon0 / 1000
    )
    return float(one.self_compose(count).get_epsilon_for_delta(delta))
