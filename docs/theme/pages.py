"""What is on the site, for MkDocs: the pages as they lie in the project, so that their links hold there and here, and a
reference of every public name, from the docstrings."""

import ast
import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
BESIDES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md")
SHOWN = (*BESIDES, "docs/**/*.md", "docs/images/*", "docs/theme/*.js", "docs/theme/*.css")
REGISTRY = "packages/reticent/src/reticent/registry.py"
SERVE = "packages/reticent-serve/src/reticent_serve/__init__.py"
DEVICES = "packages/reticent-devices/src/reticent_devices/__init__.py"
PAPERS = "packages/reticent-papers/src/reticent_papers/__init__.py"
REFERENCE = {  # title -> a file, and the table with its names there; "": what the file imports
    "Joint bandits": (REGISTRY, "JOINT"),
    "References": (REGISTRY, "REFERENCES"),
    "All else": (REGISTRY, "HOMES"),
    "Databases": (SERVE, "HOMES"),
    "Shuffle bandits": (DEVICES, "SHUFFLE"),
    "Local bandits": (DEVICES, "LOCAL"),
    "Devices": (DEVICES, "HOMES"),
    "Published joint bandits": (PAPERS, "JOINT"),
    "Published shuffle bandits": (PAPERS, "SHUFFLE"),
    "Published local bandits": (PAPERS, "LOCAL"),
    "Published references": (PAPERS, "REFERENCES"),
    "Environments": ("packages/reticent/src/reticent/environments/__init__.py", ""),
}
MORE = {"Errors": "reticent.errors"}  # -> a module
WHOLE = "{show_root_heading: false, show_root_toc_entry: false}"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The sections of docs/README.md are the tabs of the site."""
    index = (ROOT / "docs" / "README.md").read_text()
    parts = re.split(r"^\*\*(\w+)\*\*", index, flags=re.MULTILINE)[1:]
    sections = {
        title: [f"docs/{page}" for row in re.findall(r"^\|.*", text, re.M) for page in re.findall(r"\]\((.*?)\)", row)]
        for title, text in zip(parts[::2], parts[1::2], strict=True)
    }
    config.nav = [
        {"reticent": [{"Home": "README.md"}, {"Index": "docs/README.md"}, *BESIDES[1:]]},
        *({title: pages} for title, pages in sections.items()),
        {"Reference": [{title: _page(title)} for title in (*REFERENCE, *MORE)]},
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Files under the names that they have in the project."""
    kept = [file for file in files if file.src_dir != config.docs_dir]
    for pattern in SHOWN:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            kept.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    listed = {title: "".join(f"::: {name}\n\n" for name in _names(*place)) for title, place in REFERENCE.items()}
    listed |= {title: f"::: {module}\n    options: {WHOLE}\n" for title, module in MORE.items()}
    for title, text in listed.items():
        kept.append(File.generated(config, _page(title), content=f"# {title}\n\n{text}"))
    return Files(kept)


def on_page_markdown(markdown: str, page: Any, files: Files, **_: Any) -> str:
    """Links to what is in the project but not on the site, such as a folder, become its name."""

    def link(match: re.Match[str]) -> str:
        name = os.path.normpath(Path(page.file.src_uri).parent / match[1])
        return match[0] if files.get_file_from_path(name) or not (ROOT / name).exists() else f"`{name}`"

    return re.sub(r"\[[^\]]*\]\((?!\w+://|#)([^)#]+)\)", link, markdown)


def _page(title: str) -> str:
    return f"reference/{title.lower().replace(' ', '-')}.md"


def _names(file: str, table: str) -> list[str]:
    """The names of a table, read and not imported: the site needs nothing that reticent needs."""
    lines = ast.parse((ROOT / file).read_text()).body
    if not table:
        return [
            f"{line.module}.{name.name}" for line in lines if isinstance(line, ast.ImportFrom) for name in line.names
        ]
    for node in lines:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == table:
            written = node.value.right if isinstance(node.value, ast.BinOp) else node.value
            return [f"{home}.{name}" for name, home in ast.literal_eval(written).items()]
    raise ValueError(f"Expected a table {table} in {file}, got none.")
