"""The text of public headers and pages as Doxygen shall read it, for make_cpp_reference.py: line by line, so that its
messages name the right line.

Comments of headers are plain text. So
- the comment at the top of a header becomes that of the file;
- what Doxygen, Markdown or HTML would take for a command is escaped outside of `...`, but for "@{" and "@}" on lines of
  their own: members between them share the comment before them;
- lines that are indented by two blanks or more become code, unless they begin with "- ", which is a list.

Left out are
- members below "// For lockstep itself." up to the next access specifier, or the end of the class;
- copies, moves and comparisons that are `= default`;
- formatters for fmt.

In a page, links to other pages become their text, and names of headers (`shape.h`), classes (`Shape`) and functions
(`area()`) links to them.
"""

import re

#: A line of documentation: what stands before it, its marker, its text.
LINE = re.compile(r"^(?P<before>\s*|.*?\S\s+)(?P<marker>///<?)(?P<text>(?:\s.*)?)$")
INTERNAL = re.compile(r"^\s*// For lockstep itself\.$")
ACCESS = re.compile(r"^\s*(?:public|protected|private):|^};")
SPECIAL = re.compile(r"""[\\@#<>&%*_"]|\](?=\()""")
LIST = re.compile(r"^\s*- ")
GROUP = re.compile(r"^\s*@[{}]$")
DEFAULTED = re.compile(r"^\s.*(?:\boperator(?:==|<=>|=)|\b(\w+)\((?:const )?\1 ?&&?\)).* = default;$")
FORMATTER = re.compile(r"^struct fmt::formatter<")


def escaped(text):
    """Text, of which nothing is a command."""
    if GROUP.match(text):
        return text
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [SPECIAL.sub(escape, part) for part in parts[::2]]
    text = "".join(parts)
    return re.sub(r"^(\s*)([-+])(?=\s)", r"\1\\\2", text) if not LIST.match(text) else text


def escape(match):
    character = match.group()
    inside = match.string[max(match.start() - 1, 0) : match.end() + 1]
    if character == "_" and re.fullmatch(r"\w_\w", inside):
        return character  # part of a name
    return {"<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;"}.get(character, "\\" + character)


def runs_of_code(lines):
    """(first, end) of each run of indented lines that is no list."""
    runs, listed = [], False
    for number, text in enumerate(lines):
        if not text.strip():
            continue
        indented = text.startswith("   ")
        listed = bool(LIST.match(text)) or (listed and indented)
        if not indented or listed:
            continue
        if runs and not any(line.strip() and not line.startswith("   ") for line in lines[runs[-1][1] : number]):
            runs[-1] = (runs[-1][0], number + 1)
        else:
            runs.append((number, number + 1))
    return runs


def as_text(lines):
    """The lines of a comment, without their markers, as Doxygen's."""
    runs = runs_of_code(lines)
    code = {number for first, end in runs for number in range(first, end)}
    out = [text if number in code else escaped(text) for number, text in enumerate(lines)]
    for first, end in runs:
        cpp = any(re.search(r"[;{]$", text) for text in lines[first:end])
        begin = " @code{.cpp}" if cpp else " @code{.unparsed}"
        if first > 0:
            out[first - 1] += begin
        else:
            out[first] = begin + out[first]
        if end < len(out):
            out[end] = " @endcode" + out[end]
        else:
            out[end - 1] += " @endcode"
    return out


def header(path, text):
    lines = text.split("\n")
    # The comment of the file.
    end = next((number for number, line in enumerate(lines) if not line.startswith("//")), len(lines))
    top = as_text([line[2:] for line in lines[:end]])
    lines[:end] = [f"///{line}" for line in top]
    if end < len(lines) and lines[end] == "#pragma once":
        lines[end] = f"/// @file {path}"
    # The other comments: lines with one marker at one column after another are one.
    number = end + 1
    while number < len(lines):
        match = LINE.match(lines[number])
        if not match:
            number += 1
            continue
        block = [match]
        while number + len(block) < len(lines):
            more = LINE.match(lines[number + len(block)])
            if not more or more["marker"] != match["marker"] or more["before"].strip():
                break
            block.append(more)
        for place, text in enumerate(as_text([part["text"] for part in block])):
            lines[number + place] = block[place]["before"] + block[place]["marker"] + text
        number += len(block)
    leave_out(lines)
    return "\n".join(lines)


def leave_out(lines):
    """Puts conditions that never hold around what the reference leaves out."""
    internal = formatter = False
    for number, line in enumerate(lines):
        if INTERNAL.match(line):
            lines[number], internal = "/// @cond INTERNAL", True
        elif internal and ACCESS.match(line):
            lines[number], internal = "/** @endcond */ " + line.lstrip(), False
        elif FORMATTER.match(line) and not formatter:
            lines[number - 1], formatter = "/** @cond INTERNAL */ " + lines[number - 1], True
        elif formatter and line == "};":
            lines[number], formatter = line + " /** @endcond */", False
        elif DEFAULTED.match(line):
            lines[number] = f"/** @cond INTERNAL */ {line.strip()} /** @endcond */"


def page(text):
    text = re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text)
    text = re.sub(r"`((?:\w+/)*\w+\.h)`", r"\1", text)
    return re.sub(r"`([A-Z]\w+|[a-z]\w+(?=\(\)`))(\(\))?`", r'@ref lockstep::\1\2 "\1\2"', text)
