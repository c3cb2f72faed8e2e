#!/usr/bin/env python3
"""Makes the C++ reference: HTML of what the public headers (public_headers.py) declare, by Doxygen.

  scripts/make_cpp_reference.py FOLDER   writes FOLDER/index.html and what belongs to it
  --root TREE                            of another tree

Exit code 1 if Doxygen has anything to say, or if a declaration or a value of an enum has no comment; 2 where there is
no Doxygen. scripts/Doxyfile and doxygen_filter.py say what the reference holds.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import doxygen_filter
import public_headers

ROOT = pathlib.Path(__file__).resolve().parents[1]
MAIN_PAGE = "docs/reference/cpp_api.md"


def copy_for_doxygen(root, copy):
    """Writes what Doxygen reads into the folder `copy`. Returns the paths, the main page first if there is one."""
    pages = [path for path in [MAIN_PAGE] if (root / path).is_file()]
    headers = public_headers.closure(root)
    for path in pages + headers:
        text = (root / path).read_text(encoding="utf-8")
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        text = doxygen_filter.page(text) if path == MAIN_PAGE else doxygen_filter.header(path, text)
        (copy / path).write_text(text, encoding="utf-8")
    return pages + headers


def settings(paths, copy, scratch, folder):
    """The text of a Doxyfile: that of scripts/, version, input and output."""
    version = re.search(r"^project\(lockstep VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)
    added = {
        "PROJECT_NUMBER": version.group(1),
        "INPUT": " ".join(f'"{copy / path}"' for path in paths),
        "STRIP_FROM_PATH": f'"{copy}"',
        "OUTPUT_DIRECTORY": f'"{scratch}"',
        "HTML_OUTPUT": f'"{folder}"',
        "USE_MDFILE_AS_MAINPAGE": f'"{copy / MAIN_PAGE}"' if MAIN_PAGE in paths else "",
    }
    return (ROOT / "scripts/Doxyfile").read_text() + "".join(f"{key} = {value}\n" for key, value in added.items())


def values_without_comment(xml_folder, copy):
    """A message for each value of an enum that has no comment: Doxygen 1.9.4 has none."""
    for path in sorted(xml_folder.glob("*.xml")):
        for enum in xml.etree.ElementTree.parse(path).iter("memberdef"):
            for value in enum.findall("enumvalue") if enum.get("prot") == "public" else ():
                texts = (value.find(part).itertext() for part in ("briefdescription", "detaileddescription"))
                if any("".join(text).strip() for text in texts):
                    continue
                place, name = enum.find("location"), f"{enum.findtext('name')}::{value.findtext('name')}"
                where = place.get("file").removeprefix(f"{copy}/")
                yield f"{where}:{place.get('line')}: {name} is not documented.\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    if shutil.which("doxygen") is None:
        print("doxygen is missing: scripts/install_deps.sh --tests installs it", file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        scratch = pathlib.Path(temporary).resolve()
        copy = scratch / "tree"
        paths = copy_for_doxygen(arguments.root.resolve(), copy)
        result = subprocess.run(["doxygen", "-"], input=settings(paths, copy, scratch, folder), cwd=copy, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        messages = result.stdout.replace(f"{copy}/", "")
        messages += "".join(sorted(set(values_without_comment(scratch / "xml", copy))))
    sys.stderr.write(messages)
    return 1 if result.returncode or messages.strip() else 0


if __name__ == "__main__":
    sys.exit(main())
