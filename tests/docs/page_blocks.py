"""The blocks of a page of the documentation, with the marks that steer them as tests.

A mark is an HTML comment directly before a block, which readers do not see:

    <!-- test: skip REASON -->            the block is not run
    <!-- test: replace "OLD" "NEW" -->    changes its text first; may be repeated
    <!-- test: append "WORDS" -->         adds words to each `lockstep train` and `lockstep launch`
    <!-- test: exit N -->                 its last command ends with this code
    <!-- test: output -->                 a text block: what the block before it prints; `...` is any text
    <!-- test: output numbers differ -->  the same, with any numbers and hashes in the place of those that are shown
    <!-- test: not compared REASON -->    a text block that is no output of the page's commands

Each text block has one of the last three; a line `...` of an output is any lines. And `<!-- test: run`, commands, `-->`
is a block of its own, of commands that readers do not see.
"""
import dataclasses
import re
import shlex

#: What a block may be called, so that no command escapes by another name.
LANGUAGES = ("sh", "python", "text", "yaml", "cpp", "json", "cmake", "html", "ini", "make", "dockerfile", "csv")
#: Blocks that are run.
PROGRAMS = ("sh", "python")

_FENCE = re.compile(r"(\s*)(```+)\s*(.*?)\s*$")
_MARK = re.compile(r"\s*<!-- test: (.*?) -->\s*$")
_TRAIN = re.compile(r"(?<![\w./-])lockstep (train|launch)\b")
#: What differs from machine to machine: a number that is no part of a name, or a hash.
_NUMBER = re.compile(r"\b[0-9a-f]{64}\b|(?<![A-Za-z_0-9.])[+-]?\d+(?:[.:,]\d+)*(?:e[+-]?\d+)?k?")
_ANY_NUMBER = r"(?:[0-9a-f]{64}|[+-]?\d+(?:[.:,]\d+)*(?:e[+-]?\d+)?k?)"
#: Where a command of a shell ends, outside of quotes.
_END = re.compile(r"""\\\n|\\.|'[^']*'|"(?:\\.|[^"\\])*"|(?P<end>\s*(?:\n|\s#|[|;&<>)]|\d>))""", re.S)


class BadPage(Exception):
    """A page that cannot be tested; the message begins with its line."""


@dataclasses.dataclass
class Block:
    line: int  # of its first line of text
    language: str
    file: str | None  # as which it is written
    text: str
    skip: str | None = None  # the reason
    hidden: bool = False  # from readers
    exit_code: int = 0
    output: "Block | None" = None  # what it prints
    is_output: bool = False
    numbers_differ: bool = False  # from those that are shown
    not_compared: str | None = None  # the reason


def blocks_of(page):
    """The blocks of a page's text, in order; those with output have it, and it is no block of its own."""
    blocks, marks, lines, number = [], [], page.splitlines(), 0
    last_end = None  # the number of lines before the line after the last block
    while number < len(lines):
        line = lines[number]
        if line.strip() == "<!-- test: run":
            end = _end_of(lines, number, lambda text: text.strip() == "-->", "its -->")
            _refuse_marks(marks)
            blocks.append(Block(number + 2, "sh", None, _text(lines[number + 1:end], ""), hidden=True))
            number = last_end = end + 1
        elif mark := _MARK.match(line):
            marks.append((number + 1, mark[1]))
            number += 1
        elif "<!-- test" in line or "<!--test" in line:
            raise BadPage(f"{number + 1}: this is no mark: {line.strip()}")
        elif fence := _FENCE.match(line):
            end = _end_of(lines, number, lambda text: text.strip() == fence[2], f"its {fence[2]}")
            block = _block(number + 2, fence[3], _text(lines[number + 1:end], fence[1]))
            for mark_line, words in marks:
                _apply(block, mark_line, words)
            marks = []
            if block.language == "text" and not block.is_output and block.not_compared is None:
                raise BadPage(f"{block.line}: is this text an output, or why is it not compared?")
            if not block.is_output:
                blocks.append(block)
            elif not blocks or blocks[-1].language not in PROGRAMS or blocks[-1].file or blocks[-1].output:
                raise BadPage(f"{block.line}: no block before it has this output")
            else:
                blocks[-1].output = block
            number = last_end = end + 1
        else:
            if line.strip():
                _refuse_marks(marks)
            number += 1
    _refuse_marks(marks)
    return blocks


def matches(expected, printed, numbers_differ=False):
    """Whether a program printed what a page shows: `...` is any text within a line, a line of it any lines."""
    def words(text):
        # Columns are as wide as their widest number.
        return "[ ]+".join(re.escape(word) for word in re.split("[ ]+", text)) if numbers_differ else re.escape(text)

    def part_pattern(part):
        if not numbers_differ:
            return words(part)
        return _ANY_NUMBER.join(words(text) for text in _NUMBER.split(part))

    def pattern(line):
        return ".*".join(part_pattern(part) for part in line.rstrip().split("..."))

    parts = [r"(?:.*\n)*" if line.strip() == "..." else pattern(line) + r"\n" for line in expected.strip("\n").split("\n")]
    return re.fullmatch("".join(parts), _trimmed(printed)) is not None


def _trimmed(text):
    return "".join(line.rstrip() + "\n" for line in text.strip("\n").split("\n"))


def _end_of(lines, start, is_end, what):
    for number in range(start + 1, len(lines)):
        if is_end(lines[number]):
            return number
    raise BadPage(f"{start + 1}: {what} is missing")


def _text(lines, indent):
    return "".join(line.removeprefix(indent) + "\n" for line in lines)


def _refuse_marks(marks):
    if marks:
        raise BadPage(f"{marks[0][0]}: no block follows this mark: {marks[0][1]}")


def _block(line, information, text):
    language, _, rest = information.partition(" ")
    if language not in LANGUAGES:
        raise BadPage(f"{line - 1}: a block is one of {', '.join(LANGUAGES)}, not '{language}'")
    name = re.fullmatch(r"file=(\S+)", rest) if rest else None
    if rest and not name:
        raise BadPage(f"{line - 1}: after the language stands file=NAME, not '{rest}'")
    if name and (name[1].startswith("/") or ".." in name[1]):
        raise BadPage(f"{line - 1}: {name[1]} is not in the page's folder")
    return Block(line, language, name[1] if name else None, text)


def _apply(block, line, words):
    def refuse(reason):
        raise BadPage(f"{line}: {reason}: {words}")

    name, _, rest = words.partition(" ")
    if name in ("skip", "append", "exit") and block.language not in PROGRAMS:
        refuse(f"a block of {block.language} is not run")
    if name == "skip":
        block.skip = rest.strip() or refuse("why is it skipped?")
    elif name == "replace":
        old, new = _quoted(rest, 2, refuse)
        if old not in block.text:
            refuse("the block has no such text")
        block.text = block.text.replace(old, new)
    elif name == "append":
        (added,) = _quoted(rest, 1, refuse)
        block.text, count = _append(block.text, added)
        if not count:
            refuse("no command of the block trains")
    elif name == "exit":
        if not rest.isdigit():
            refuse("this is no exit code")
        block.exit_code = int(rest)
    elif name in ("output", "not") and block.language != "text":
        refuse("an output is a block of text")
    elif name == "output":
        if rest not in ("", "numbers differ"):
            refuse("this is said of no output")
        block.is_output, block.numbers_differ = True, bool(rest)
    elif name == "not":
        if not rest.startswith("compared "):
            refuse("unknown mark")
        block.not_compared = rest.removeprefix("compared").strip() or refuse("why is it not compared?")
    else:
        refuse("unknown mark")


def _quoted(text, count, refuse):
    try:
        words = shlex.split(text)
    except ValueError as error:
        refuse(str(error))
    if len(words) != count or text.count('"') < 2 * count:
        refuse(f"it takes {count} quoted texts")
    return words


def _append(text, words):
    """(the text with words at the end of each command that trains, how many there are)"""
    out, at, count = "", 0, 0
    while command := _TRAIN.search(text, at):
        if "#" in text[text.rfind("\n", 0, command.start()) + 1:command.start()]:
            out, at = out + text[at:command.end()], command.end()
            continue
        position = command.end()
        while position < len(text):
            token = _END.match(text, position)
            if token and token["end"] is not None:
                break
            position = token.end() if token else position + 1
        out, at, count = f"{out}{text[at:position]} {words}", position, count + 1
    return out + text[at:], count
