"""Docstrings on the site: what begins with Guarantee, Reference, Departure or the name of a setting is a paragraph."""

import re
from typing import Any

import griffe

HEADS = re.compile(r"(?<=\n)(Guarantee|Reference|Departure): ")


class Paragraphs(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = HEADS.sub(r"\n**\1.** ", obj.docstring.value)
