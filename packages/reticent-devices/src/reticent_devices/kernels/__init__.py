"""Compiled maths that several algorithms of devices share."""
