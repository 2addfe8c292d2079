"""A cache of kernels is that of one package: its own kernels, and those that they call."""

import importlib
import sys

import numba

from reticent.kernels import compile as compiling
from reticent.kernels import linalg

FILES = {"reticent_below/__init__.py": "", "reticent_below/a_kernel.py": "# a\n", "above/__init__.py": ""}
FILES |= {"above/one_kernel.py": "from reticent_below.a_kernel import a\n", "above/other.py": ""}


def test_a_package_compiles_nothing_anew_below_it(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    packages = ("reticent", "reticent_below", "above")

    def folders():
        compiling._folder.cache_clear()
        return [compiling._folder("", package) for package in packages]

    try:
        before = folders()
        assert len(set(before)) == 3
        for name, changed in (("above/other.py", 0), ("above/one_kernel.py", 1), ("reticent_below/a_kernel.py", 2)):
            (tmp_path / name).write_text(FILES[name] + "# a change\n")
            now = folders()
            assert [a != b for a, b in zip(before, now, strict=True)] == [i >= 3 - changed for i in range(3)], name
            before = now
    finally:
        compiling._folder.cache_clear()
        for package in packages[1:]:
            sys.modules.pop(package, None)
        importlib.invalidate_caches()


def test_kernels_of_the_core_are_in_a_cache_of_the_core():
    assert linalg.svec._cache.cache_path.startswith(compiling._folder(numba.config.CACHE_DIR, "reticent"))
