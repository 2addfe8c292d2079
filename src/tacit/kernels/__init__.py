"""Compiled steps on arrays: what simulation and serving share. They import nothing of ours and draw no raw
data from anywhere but their arguments. A kernel changes only `state` and arguments named `out`."""
