"""The command line as `python -m reticent`."""

from reticent.cli import main

main()
