"""What C++ files define in namespaces, read without a compiler, for check_definitions.py.

Declarations are read and bodies skipped: a tokenizer is enough for sources in one style, which the
compiler has accepted. What a macro would expand to is not seen.
"""

import collections
import re

# A name that a file defines in a namespace. In `scope`, the names of the namespaces around it, an unnamed one is "".
# `signature` is of a function, "(int, const A &) const", else None; `alias` is what an alias stands for, else None.
Definition = collections.namedtuple("Definition", "path line scope name signature alias")

NO_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|(?P<quoted>R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+')"
    r"|(?P<directive>^[ \t]*#(?:\\\n|[^\n])*)",
    re.DOTALL | re.MULTILINE,
)
TOKEN = re.compile(r"[A-Za-z_]\w*|[0-9][\w.']*|::|->|\.\.\.|\[\[|[^\s\w]")
CLOSING = {"(": ")", "[": "]", "{": "}"}
CLASS_KEYS = ("class", "struct", "union", "enum")
SPECIFIERS = ("static", "inline", "constexpr", "consteval", "constinit", "extern")
# Words of a type that are none of its parameter's name.
TYPE_WORDS = set("const volatile unsigned signed int long short char bool float double auto void".split())
# Words before parentheses that name no function.
NO_FUNCTION = ("alignas", "decltype", "noexcept", "requires", "explicit")


def is_name(token):
    return token[0].isalpha() or token[0] == "_"


def skip_group(tokens, at):
    """The place behind the brackets that open at `at`."""
    closing = []
    while True:
        token = tokens[at]
        if token in CLOSING:
            closing.append(CLOSING[token])
        elif token == "[[":
            closing += ["]", "]"]
        elif token == closing[-1]:
            closing.pop()
        at += 1
        if not closing:
            return at


def skip_angles(tokens, at):
    """The place behind the template arguments that open at `at`; `at` + 1 if the "<" compares."""
    depth, place = 0, at
    while place < len(tokens) and tokens[place] not in (";", "}", ")", "]"):
        token = tokens[place]
        if token in CLOSING:
            place = skip_group(tokens, place)
            continue
        depth += (token == "<") - (token == ">")
        place += 1
        if depth == 0:
            return place
    return at + 1


def skip_one(tokens, at):
    """The place behind a token, or behind the brackets that it opens."""
    return skip_group(tokens, at) if tokens[at] in CLOSING or tokens[at] == "[[" else at + 1


def split_at_commas(tokens):
    parts, start, at = [], 0, 0
    while at < len(tokens):
        if tokens[at] == "<":
            at = skip_angles(tokens, at)
            continue
        if tokens[at] == ",":
            parts.append(tokens[start:at])
            start = at + 1
        at = skip_one(tokens, at)
    return [part for part in [*parts, tokens[start:]] if part]


def parameter_type(tokens):
    """The tokens of a parameter without its name, its default and a const of its own."""
    tokens = tokens[: tokens.index("=")] if "=" in tokens else list(tokens)
    if "[" in tokens[1:]:  # int x[4]
        tokens = tokens[: tokens.index("[")]
        tokens.insert(len(tokens) - 1, "*")
    words = [token for token in tokens[:-1] if token not in ("const", "volatile", "typename")]
    if words and is_name(tokens[-1]) and tokens[-1] not in TYPE_WORDS and tokens[-2] != "::":
        tokens = tokens[:-1]
    if not {"*", "&"} & set(tokens):
        tokens = [token for token in tokens if token != "const"]
    return " ".join(tokens)


class Declarations:
    """Reads one file: `definitions`, `directives` (line, text after the #) and `using_namespaces` (line, name)."""

    def __init__(self, path, text):
        self.path = path
        self.definitions = []
        self.directives = []
        self.using_namespaces = []
        self._code = NO_CODE.sub(self._without, text)
        self._found = list(TOKEN.finditer(self._code))
        self._tokens = [match.group() for match in self._found]
        self._read()

    def _without(self, match):
        """What stands for a comment, a text or a directive: lines stay, and a text is a quote."""
        if match.group("directive"):
            line = match.string.count("\n", 0, match.start()) + 1
            self.directives.append((line, match.group().strip().lstrip("# \t")))
        return ('"' if match.group("quoted") else " ") + "\n" * match.group().count("\n")

    def _line(self, at):
        return self._code.count("\n", 0, self._found[at].start()) + 1

    def _add(self, scope, at, name, signature=None, alias=None):
        self.definitions.append(Definition(self.path, self._line(at), tuple(scope), name, signature, alias))

    def _read(self):
        tokens, at = self._tokens, 0
        scope, opened = [], []  # opened: how many names of the scope each open brace added
        while at < len(tokens):
            if tokens[at] == "}":
                count = opened.pop() if opened else 0
                del scope[len(scope) - count :]
                at += 1
            elif tokens[at] == ";":
                at += 1
            elif tokens[at] == "extern" and tokens[at + 1 : at + 3] == ['"', "{"]:
                opened.append(0)
                at += 3
            elif "namespace" in (tokens[at], *tokens[at + 1 : at + 2]) and tokens[at] in ("namespace", "inline"):
                at, names = self._read_namespace(at)
                if names is not None:
                    scope += names
                    opened.append(len(names))
            else:
                at = self._read_declaration(at, scope)

    def _read_namespace(self, at):
        """The place behind the brace and the names; for an alias, that behind the semicolon and None."""
        names = []
        while self._tokens[at] not in ("{", ";"):
            # A macro may stand before the name: namespace LOCKSTEP_API lockstep {
            if is_name(self._tokens[at]) and not self._tokens[at].isupper():
                names.append(self._tokens[at])
            at += 1
        names = [name for name in names if name not in ("namespace", "inline")]
        return at + 1, None if self._tokens[at] == ";" else names or [""]

    def _read_declaration(self, at, scope):
        """Reads what begins at `at`; the place behind it."""
        tokens = self._tokens
        template_names = {}
        specifiers = set()
        while True:
            if tokens[at] == "template":
                if tokens[at + 1] != "<":  # an explicit instantiation
                    return self._skip_statement(at)
                end = skip_angles(tokens, at + 1)
                for part in split_at_commas(tokens[at + 2 : end - 1]):
                    name = part[part.index("=") - 1 if "=" in part else -1]
                    template_names[name] = f"${len(template_names)}"
                at = end
            elif tokens[at] == "[[":
                at = skip_group(tokens, at)
            elif tokens[at] == "requires":
                at = self._skip_constraint(at)
            elif tokens[at] in SPECIFIERS:
                specifiers.add(tokens[at])
                at += 1
            else:
                break
        if "static" in specifiers:  # as if it stood in an unnamed namespace
            scope = [*scope, ""]
        if tokens[at] == "using":
            return self._read_using(at, scope)
        if tokens[at] == "typedef":
            end = self._skip_statement(at)
            self._add(scope, end - 2, tokens[end - 2], alias=" ".join(tokens[at + 1 : end - 2]))
            return end
        if tokens[at] == "static_assert":
            return self._skip_statement(at)
        if tokens[at] == "concept":
            self._add(scope, at + 1, tokens[at + 1])
            return self._skip_statement(at)
        end = self._read_type(at, scope) if tokens[at] in CLASS_KEYS else None
        return end or self._read_function_or_variable(at, scope, template_names, "extern" in specifiers)

    def _skip_statement(self, at):
        """The place behind the next semicolon outside of all brackets."""
        while self._tokens[at] != ";":
            at = skip_one(self._tokens, at)
        return at + 1

    def _skip_constraint(self, at):
        """The place behind `requires` and what it wants: names and brackets, joined by && and ||."""
        tokens = self._tokens
        while True:
            at += 1
            if tokens[at] == "requires":  # requires requires(T t) { ... }
                at = skip_group(tokens, at + 1)
                at = skip_group(tokens, at) if tokens[at] == "{" else at
            elif tokens[at] == "(":
                at = skip_group(tokens, at)
            else:
                at += 1
                while tokens[at] in ("::", "<"):
                    at = skip_angles(tokens, at) if tokens[at] == "<" else at + 2
            if tokens[at : at + 2] not in (["&", "&"], ["|", "|"]):
                return at
            at += 1

    def _read_using(self, at, scope):
        tokens = self._tokens
        end = self._skip_statement(at)
        if tokens[at + 1] == "namespace":
            self.using_namespaces.append((self._line(at), "".join(tokens[at + 2 : end - 1])))
        elif tokens[at + 2] in ("=", "[["):
            self._add(scope, at + 1, tokens[at + 1], alias=" ".join(tokens[tokens.index("=", at) + 1 : end - 1]))
        return end

    def _read_type(self, at, scope):
        """The place behind a type; None if a variable's or a function's declaration begins so."""
        tokens = self._tokens
        unscoped = tokens[at] == "enum" and tokens[at + 1] not in ("class", "struct")
        at += 2 if tokens[at] == "enum" and not unscoped else 1
        while tokens[at] in ("[[", "alignas"):
            at = skip_group(tokens, at if tokens[at] == "[[" else at + 1)
        first = at
        while (is_name(tokens[at]) and tokens[at] != "final") or tokens[at] == "::":
            at += 1
        if tokens[at] == "<":  # a specialization
            at = skip_angles(tokens, at)
        name = "".join(tokens[first:at])
        if tokens[at] == ";":
            return at + 1
        if tokens[at] not in ("{", ":", "final"):
            return None
        while tokens[at] not in ("{", ";"):
            at = skip_angles(tokens, at) if tokens[at] == "<" else at + 1
        if tokens[at] == ";":  # enum class A : int;
            return at + 1
        end = skip_group(tokens, at)
        if name:
            self._add(scope, first, name)
        if unscoped:
            for part in split_at_commas(tokens[at + 1 : end - 1]):
                self._add(scope, first, part[0])
        if is_name(tokens[end]):  # struct { ... } name = ...;
            self._add(scope, end, tokens[end])
        return self._skip_statement(end)

    def _read_function_or_variable(self, at, scope, template_names, is_extern):
        tokens = self._tokens
        name_at, parameters = None, None  # parameters: the places of what stands between the parentheses
        while True:
            token = tokens[at]
            if token == "<" and is_name(tokens[at - 1]):
                at = skip_angles(tokens, at)
            elif token == "operator" and parameters is None:
                name_at = at
                at += 1
                while tokens[at] != "(" or tokens[at + 1 : at + 3] == [")", "("]:  # operator()(
                    at += 2 if tokens[at] == "(" else 1
                parameters = (at + 1, skip_group(tokens, at) - 1)
                at = parameters[1] + 1
            elif token == "(" and parameters is None and tokens[at - 1] not in NO_FUNCTION:
                parameters = (at + 1, skip_group(tokens, at) - 1)
                at = parameters[1] + 1
            elif token == "requires":
                at = self._skip_constraint(at)
            elif token == ":" and parameters is not None:
                at = self._skip_initializers(at)
            elif token == "{" and parameters is not None:
                self._add_function(scope, name_at, parameters, template_names)
                return skip_group(tokens, at)
            elif token == "=" and parameters is not None:
                if tokens[at + 1] == "default":
                    self._add_function(scope, name_at, parameters, template_names)
                return self._skip_statement(at)
            elif token in ("=", "{", ";"):
                holds = parameters is None or tokens[parameters[0]] == '"'  # const Regex kPattern("...");
                if name_at is not None and holds and not (is_extern and token == ";"):
                    self._add(scope, name_at, self._with_classes(name_at, tokens[name_at]))
                return self._skip_statement(at)
            else:
                if is_name(token) and parameters is None:
                    name_at = at
                at = skip_one(tokens, at)

    def _skip_initializers(self, at):
        """The place of the brace that opens the body of a constructor; `at` is that of its colon."""
        tokens = self._tokens
        while True:
            at += 1
            while tokens[at] not in ("(", "{"):
                at = skip_angles(tokens, at) if tokens[at] == "<" else at + 1
            at = skip_group(tokens, at)
            at += tokens[at] == "..."
            if tokens[at] != ",":
                return at

    def _with_classes(self, name_at, name):
        """A name with the classes that stand before it."""
        tokens, at = self._tokens, name_at - 1
        if tokens[at] == "~":
            name, at = "~" + name, at - 1
        while tokens[at] == "::":
            at -= 1
            depth = 0
            while tokens[at] == ">" or depth > 0:  # A<B>::f
                depth += (tokens[at] == ">") - (tokens[at] == "<")
                at -= 1
            if not is_name(tokens[at]):
                break
            name = f"{tokens[at]}::{name}"
            at -= 1
        return name

    def _add_function(self, scope, name_at, parameters, template_names):
        tokens, (begin, end) = self._tokens, parameters
        name = self._with_classes(name_at, "".join(tokens[name_at : begin - 1]))
        types = [parameter_type([template_names.get(token, token) for token in part])
                 for part in split_at_commas(tokens[begin:end])]
        const = " const" if tokens[end + 1] == "const" else ""
        self._add(scope, name_at, name, signature=f"({', '.join(types)}){const}")
