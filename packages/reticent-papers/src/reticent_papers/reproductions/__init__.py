"""Papers' tables and figures, one folder each: what to run, how to draw it, and what the paper says in words, checked
against what we see. claims.json: what is printed, and how far off we call the same; expected.json: what the smallest
version finds, written by `make expected`."""
