"""The bandits of a package, by name. Tests that hold for all take `registered` and run on those of the product here; a
package imports the same tests, which then run on its own (conftest.py)."""

from reticent import registry

PRODUCT = ("reticent", "reticent_devices")


def bandits(packages: tuple[str, ...] = PRODUCT, *trust: str) -> dict[str, tuple[str, str]]:
    return {name: home for name, home in registry.bandits(*trust).items() if home[0].partition(".")[0] in packages}


def of(module: str) -> tuple[str, ...]:
    """The packages whose bandits the tests of that module are about: papers_tests.... -> reticent_papers."""
    name = module.partition(".")[0].removesuffix("_tests")
    return (f"reticent_{name}",) if name in ("lab", "papers", "two") else PRODUCT
