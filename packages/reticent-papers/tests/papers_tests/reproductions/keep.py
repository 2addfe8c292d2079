"""What the docs keep of reproductions: `make kept` writes docs/kept, pictures, and a table of
docs/papers/reproductions.md.

python -m papers_tests.reproductions.keep status   # which of them are of the code as it is
python -m papers_tests.reproductions.keep out      # from out/NAME or out/NAME-quick, of `reticent reproduce all`
"""

import re
import shutil
import sys
from pathlib import Path

import reticent_papers
from reticent_papers import outcome

ROOT = Path(__file__).parents[5]
KEPT, IMAGES, PAGE = ROOT / "docs" / "kept", ROOT / "docs" / "images", ROOT / "docs" / "papers" / "reproductions.md"
QUICK = {"ablations", "figure1-logistic", "shariff-d2"}  # pictures that the docs show of a quick version
GOOD, BAD = "seen|confirmed", "NOT SEEN|NOT CONFIRMED"  # marks of findings
START, END = "<!-- kept: written by make kept -->\n", "<!-- end of kept -->"


def take(out: Path) -> list[str]:
    """Copy what is there; names of what was copied."""
    taken = []
    for name in reticent_papers.REPRODUCTIONS:
        for folder in (out / f"{name}-quick", out / name):  # the full version, if both are there
            if (folder / "outcome.txt").exists():
                shutil.copyfile(folder / "outcome.txt", KEPT / f"{name}.txt")
                if (IMAGES / f"{name}.png").exists() and (folder.name == name or name in QUICK):
                    shutil.copyfile(folder / "figure.png", IMAGES / f"{name}.png")
                taken.append(name)
    return list(dict.fromkeys(taken))


def table() -> str:
    """What is kept, how it was made, and how much of what is said was seen."""
    lines = ["| kept | made by | version | seen (errata: confirmed) | not seen |", "|---|---|---|---|---|"]
    for name in reticent_papers.REPRODUCTIONS:
        path = KEPT / f"{name}.txt"
        if path.exists():
            text = path.read_text()
            seen, unseen = (len(re.findall(rf"^  \[({marks})\]", text, re.M)) for marks in (GOOD, BAD))
            command, version, code = re.findall(r"^Made by (.*) \(reticent (\S+), code (\S+)\)$", text, re.M)[0]
            made = f"`{command}` | {version}, code {code}"
            lines.append(f"| [{name}](../kept/{name}.txt) | {made} | {seen} | {unseen} |")
        else:
            lines.append(f"| {name} | not kept | | | |")
    return "\n".join(lines) + "\n"


def status() -> str:
    """Which kept results are of the code as it is: a digest of what each reproduction imports is in its last line."""
    lines = []
    for name in reticent_papers.REPRODUCTIONS:
        path, now = KEPT / f"{name}.txt", outcome.code(name)
        if not path.exists():
            lines.append(f"{name:<18} not kept")
            continue
        _, version, code = re.findall(r"^Made by (.*) \(reticent (\S+), code (\S+)\)$", path.read_text(), re.M)[0]
        age = "of this code" if code == now else f"older: reticent {version}, code {code}; now {now}"
        lines.append(f"{name:<18} {age}")
    return "\n".join(lines) + "\n"


def page() -> str:
    """docs/papers/reproductions.md with that table."""
    text = PAGE.read_text()
    before, rest = text.split(START)
    return before + START + "\n" + table() + "\n" + END + rest.split(END)[1]


if __name__ == "__main__":
    if sys.argv[1:] == ["status"]:
        sys.stdout.write(status())
        raise SystemExit
    sys.stdout.write(f"Kept: {', '.join(take(Path(sys.argv[1]))) or 'nothing'}.\n")
    PAGE.write_text(page())
