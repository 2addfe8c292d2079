"""The bandits of a package, by name. Tests that hold for all take `registered` and run on those of the core here; a
package imports the same tests, which then run on its own (conftest.py)."""

from reticent import registry


def bandits(package: str = "reticent", *trust: str) -> dict[str, tuple[str, str]]:
    return {name: home for name, home in registry.bandits(*trust).items() if home[0].partition(".")[0] == package}


def of(module: str) -> str:
    """The package whose bandits the tests of that module are about: packages.papers.tests.... -> reticent_papers."""
    return f"reticent_{module.split('.')[1]}" if module.startswith("packages.") else "reticent"
