"""Compiled steps on arrays: what simulation and serving share. They import formulas of model/ and the types of data.py
alone, and take data from their arguments alone. A kernel changes only `state` and arguments named `out`."""
