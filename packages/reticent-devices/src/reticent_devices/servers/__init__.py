"""The roles of the shuffle and local models as processes: `reticent serve analyzer`, `shuffler` and `local`. What each
may see is in docs/roles.md; roles share no file, no key and no database."""
