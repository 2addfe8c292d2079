"""One benchmark for private bandits: frozen worlds and seeds, every algorithm at its true epsilon, and strangers' too.

worlds: what is played, by version. entries: who plays. submission: a stranger's file. table: rows, kept and taken up
again. audit: what later users' arms tell. page: docs/arena.md."""
