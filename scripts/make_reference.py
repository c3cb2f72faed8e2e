#!/usr/bin/env python3
"""Makes the generated pages of docs/reference from what `lockstep reference` prints, or man pages and completions."""
import argparse
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAX_LINES = 250
MARK = "<!-- made by scripts/make_reference.py from the code; do not edit -->\n"


def cell(text):
    return str(text).replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def wrapped(text):
    """Lines of at most 118 columns, none of which begins with what Markdown takes for a quote, a list or a title."""
    bound = re.sub(r" (?=>|[-+*#] |\d+[.)] )", "\u00a0", text)
    return "\n".join(textwrap.wrap(bound, 118, break_long_words=False, break_on_hyphens=False)).replace("\u00a0", " ")


def slug(name):
    return name.replace(" ", "-")


def option_name(option):
    long = "--" + option["name"]
    if option["value"]:
        long += f"[={option['value']}]" if option["bare"] else f" {option['value']}"
        long += " ..." if option["many"] else ""
    return (f"-{option['letter']}, " if option["letter"] else "") + long


def sentence(text):
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def exit_rows(data, codes):
    return [[str(c["code"]), cell(c["meaning"])] for c in data["exit_codes"] if c["code"] in codes]


def commands_pages(data):
    rows = [[f"[`{c['name']}`](commands/{slug(c['name'])}.md)", cell(c["help"])] for c in data["commands"]]
    pages = {"commands.md": "# Commands\n" + MARK + "\nFor whoever looks up a command of `lockstep`; every command also "
             "takes `--help`.\n\n" + table(["command", "what it does"], rows) +
             "\nWhat a command returns: [exit codes](exit_codes.md).\n"}
    for c in data["commands"]:
        text = f"# lockstep {c['name']}\n{MARK}\n" + wrapped(f"For whoever calls `lockstep {c['name']}`: {cell(c['help'])}.") + "\n\n"
        text += "```text\n" + "\n".join(textwrap.wrap(c["usage"], 100, subsequent_indent="    ", break_on_hyphens=False)) + "\n```\n"
        if c["details"]:
            text += f"\n{c['details'].strip()}\n" if "\n  " not in c["details"] else \
                f"\n```text\n{c['details'].rstrip()}\n```\n"
        rows = []
        for o in c["options"]:
            bare = f" Alone: `{o['bare']}`." if o["bare"] else ""
            rows.append([f"`{cell(option_name(o))}`", cell(sentence(o["help"])) + bare])
        rows.append(["`-h, --help`", "Print this and exit."])
        text += "\n## Options\n\n" + table(["option", "meaning"], rows)
        text += "\n## Exit codes\n\n" + table(["code", "meaning"], exit_rows(data, c["exits"]))
        text += "\n[All exit codes](../exit_codes.md), [all commands](../commands.md)\n"
        pages[f"commands/{slug(c['name'])}.md"] = text
    return pages


def condition(row):
    return "; ".join(f"only with {k}: {', '.join(v)}" for k, v in row.get("only_with", {}).items())


def key_text(row):
    facts = [row["type"] + (f" ({row['unit']})" if row["unit"] else "")]
    facts.append("required" if row["required"] else f"default `{row['default']}`" if row["default"] else "no default")
    facts += ["per_rank: may differ between ranks"] if row["per_rank"] else []
    facts += [condition(row)] if condition(row) else []
    facts += ["also written " + ", ".join(f"`{a}`" for a in row["aliases"])] if row["aliases"] else []
    facts += ["since " + row["since"]]
    head = f"**`{row['path']}`**: " + "; ".join(facts) + "."
    return "\n".join(wrapped(text.replace("<", "&lt;")) for text in (head, row["doc"])) + "\n\n"


def split(title, opening, back, blocks):
    """Pages of at most MAX_LINES, each with the title and the way back."""
    pages, page = [], ""
    for block in blocks:
        if page and (page + block).count("\n") > MAX_LINES - 12:
            pages.append(page)
            page = ""
        page += block
    pages.append(page)
    out = []
    for i, body in enumerate(pages):
        number = f" ({i + 1} of {len(pages)})" if len(pages) > 1 else ""
        out.append(f"# {title}{number}\n{MARK}\n{opening}\n\n{body}{back}\n")
    return out


def config_pages(data):
    sections = {}
    for row in data["config"]:
        sections.setdefault(row["section"], []).append(row)
    index, pages = [], {}
    for section, rows in sections.items():
        made = split(f"Config: {section}", f"For whoever writes the section `{section}` of a config.",
                     "[All sections](../config.md)", [key_text(row) for row in rows])
        names = [f"{section}.md" if i == 0 else f"{section}_{i + 1}.md" for i in range(len(made))]
        links = ", ".join(f"[{name[:-3]}](config/{name})" for name in names)
        index.append([links, str(len(rows))])
        pages.update({f"config/{name}": text for name, text in zip(names, made)})
    pages["config.md"] = (
        "# Config keys\n" + MARK + "\nFor whoever writes a config: every key with its type, default, unit and meaning.\n\n"
        + table(["section", "keys"], index) + "\nThe keys of a model, dataset or optimizer have an effect only with it; "
        "this stands with each key.\nA key that is not `per_rank` must be the same on all ranks of a job, which is "
        "checked.\n`lockstep config schema` prints the same, with `--json` a JSON schema for editors.\n")
    return pages


def models_page(data):
    blocks = []
    for m in data["models"]:
        keys = [r["path"] for r in data["config"]
                if r["section"] == "model" and m["name"] in r.get("only_with", {}).get("model.name", [m["name"]])]
        text = f"## {m['name']}\n\n{sentence(cell(m['doc']))} Inputs: `{m['inputs']}`."
        text += " Hugging Face folders of it are read and written.\n" if m["hub"] else "\n"
        text += "\nSizes that `lockstep models` counts:\n\n" if m["sizes"] else ""
        text += "".join(f"- {cell(size)}\n" for size in m["sizes"])
        text += "\nKeys: " + ", ".join(f"`{k}`" for k in keys)
        blocks.append("\n".join(line if line.startswith("- ") else wrapped(line) for line in text.split("\n")) + "\n\n")
    # One page; too long a one is refused below.
    return {"models.md": f"# Models\n{MARK}\nFor whoever chooses a model (`model.name`).\n\n" + "".join(blocks) +
            "What the keys mean: [config/model](config/model.md).\n"}


def ops_page(data):
    text, last = "", None
    for op in data["ops"]:
        if op["class"] != last:
            last = op["class"]
            text += f"\n## {last}\n\n| op | shapes | operands | first operand | result dtype | attributes | gradient |\n" + \
                "|" + " --- |" * 7 + "\n"
        low, high = op["min_operands"], op["max_operands"]
        count = str(low) if low == high else f"{low} or more" if high < 0 else f"{low} to {high}"
        attrs = ", ".join([f"`{a}`" for a in op["required"]] + [f"[`{a}`]" for a in op["optional"]])
        name = f"`{op['name']}`" + (" (commutative)" if op["commutative"] else "")
        text += "| " + " | ".join([name, f"`{op['shapes']}`", count, op["accepts"], op["gives"], attrs, op["gradient"]]) + " |\n"
    opening = ("For whoever reads a dumped program or writes one for `lockstep ir run`: the ops of the IR.\n\n"
               "A shape is shown for one rank, others are alike: letters are sizes, `...` any dimensions, the same "
               "everywhere. OH x OW\nwindows of KH x KW fit into H x W: OH = (H + top + bottom - dilation * (KH - 1) - 1) / "
               "stride + 1, rounded down.\nOptional operands are not shown.\n\n"
               "Attributes in [brackets] may be left out. A gradient is a *rule*, *zero*, or *none*: then differentiating "
               "is an error\nthat names the op. What each op computes stands in `core/ir/op_set.h`.")
    return {"ops.md": f"# Ops\n{MARK}\n{opening}\n{text}"}


def exit_codes_page(data):
    rows = exit_rows(data, [c["code"] for c in data["exit_codes"]])
    return {"exit_codes.md": "# Exit codes\n" + MARK + "\nFor whoever calls `lockstep` from a script.\n\n" +
            table(["code", "meaning"], rows) + "\nThe page of each [command](commands.md) has those with which it may end.\n"}


def roff(text):
    lines = text.replace("\\", "\\e").replace("-", "\\-").split("\n")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in lines)


def man_pages(data):
    def page(name, short, body):
        return (f'.TH {name.upper().replace("-", chr(92) + "-")} 1 "" "lockstep {data["version"]}" "lockstep"\n'
                f".SH NAME\n{roff(name)} \\- {roff(short)}\n{body}")
    def exits(codes):
        return ".SH EXIT STATUS\n" + "".join(f".TP\n.B {c['code']}\n{roff(c['meaning'])}\n" for c in data["exit_codes"]
                                             if c["code"] in codes)
    codes = exits([c["code"] for c in data["exit_codes"]])
    listing = "".join(f".TP\n.BR lockstep\\-{roff(slug(c['name']))} (1)\n{roff(c['help'])}\n" for c in data["commands"])
    out = {"lockstep.1": page("lockstep", "distributed data-parallel training",
                              ".SH SYNOPSIS\n.B lockstep\n.I COMMAND\n\\&...\n.SH COMMANDS\n" + listing +
                              codes)}
    for c in data["commands"]:
        body = ".SH SYNOPSIS\n" + roff(c["usage"].removeprefix("usage: ")) + "\n.SH DESCRIPTION\n" + \
            roff(sentence(c["help"])) + "\n"
        if c["details"]:
            body += ".PP\n.nf\n" + roff(c["details"].rstrip()) + "\n.fi\n"
        if c["options"]:
            body += ".SH OPTIONS\n" + "".join(f".TP\n.B {roff(option_name(o))}\n{roff(sentence(o['help']))}\n"
                                              for o in c["options"])
        body += exits(c["exits"]) + ".SH SEE ALSO\n.BR lockstep (1)\n"
        out[f"lockstep-{slug(c['name'])}.1"] = page(f"lockstep-{slug(c['name'])}", c["help"], body)
    return out


BASH = r'''# bash completion of lockstep
_lockstep() {
  local cur=${COMP_WORDS[COMP_CWORD]} first=${COMP_WORDS[1]} command options
  # "=" breaks words: the value of a key or an option is left to the files.
  [[ $cur == "=" || ${COMP_WORDS[COMP_CWORD-1]} == "=" ]] && { COMPREPLY=(); return; }
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "@first@" -- "$cur"))
    return
  fi
  case $first in
@groups@
    *) command=$first ;;
  esac
  case $command in
@options@
    *) return ;;
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options --help" -- "$cur"))
    return
  fi
  local -i place=$((COMP_CWORD - $(wc -w <<<"$command")))
  local runs=
  [[ -d runs ]] && runs=$(cd runs && compgen -d)
  case $command in
    @with_keys@)
      if ((place > 1)); then
        compopt -o nospace 2>/dev/null
        COMPREPLY=($(compgen -S = -W "@keys@" -- "$cur"))
        return
      fi
      COMPREPLY=($(compgen -f -- "$cur" | grep -E '\.ya?ml$') $(compgen -d -S / -- "$cur")) ;;
    *) COMPREPLY=($(compgen -W "$runs" -- "$cur") $(compgen -f -- "$cur")) ;;
  esac
}
complete -o filenames -F _lockstep lockstep
'''


ZSH = r"""#compdef lockstep
# zsh completion of lockstep
local -A groups options
local -a found
local command=$words[2] place=2
groups=(
@groups@
)
options=(
@options@
)
if ((CURRENT == 2)); then
  compadd -- @first@
  return
fi
if ((${+groups[$command]})); then
  if ((CURRENT == 3)); then
    compadd -- ${=groups[$command]}
    return
  fi
  command+=" $words[3]"
  place=3
fi
((${+options[$command]})) || return 1
if [[ $words[CURRENT] == *=* ]]; then
  compset -P '*='
  _files
elif [[ $words[CURRENT] == -* ]]; then
  compadd -- ${=options[$command]} --help
else
  case $command in
    (@with_keys@)
      if ((CURRENT > place + 1)); then
        compadd -S = -- @keys@
      else
        _files -g '*.(yaml|yml)'
      fi ;;
    (*)
      found=(runs/*(N/:t))
      ((${#found})) && compadd -- $found
      _files ;;
  esac
fi
"""


def command_words(data):
    """The first words, the second words by the first, the options by the command, the commands that take keys, and
    the keys."""
    groups, options = {}, {}
    for command in data["commands"]:
        word, _, second = command["name"].partition(" ")
        groups.setdefault(word, []).extend([second] if second else [])
        options[command["name"]] = ["--" + option["name"] for option in command["options"]]
    with_keys = [c["name"] for c in data["commands"] if c["positionals"][:1] == ["CONFIG"] and "key.path" in c["rest"]]
    keys = list(dict.fromkeys(row["path"] for row in data["config"]))
    return groups, options, with_keys, keys


def filled(text, values):
    for mark, value in values.items():
        text = text.replace(f"@{mark}@", value)
    return text


def bash_completion(data):
    groups, options, with_keys, keys = command_words(data)
    group_text = "".join(
        f'    {word})\n      ((COMP_CWORD == 2)) && {{ COMPREPLY=($(compgen -W "{" ".join(seconds)}" -- "$cur")); return; }}\n'
        f'      command="$first ${{COMP_WORDS[2]}}" ;;\n' for word, seconds in groups.items() if seconds)
    option_text = "\n".join(f'    "{name}") options="{" ".join(words)}" ;;' for name, words in options.items())
    return filled(BASH, {"first": " ".join(groups), "groups": group_text.rstrip(), "options": option_text,
                         "with_keys": "|".join(f'"{name}"' for name in with_keys), "keys": " ".join(keys)})


def zsh_completion(data):
    groups, options, with_keys, keys = command_words(data)
    return filled(ZSH, {
        "first": " ".join(groups), "keys": " ".join(keys),
        "groups": "\n".join(f'  "{word}" "{" ".join(seconds)}"' for word, seconds in groups.items() if seconds),
        "options": "\n".join(f'  "{name}" "{" ".join(words)}"' for name, words in options.items()),
        "with_keys": "|".join(f'"{name}"' for name in with_keys)})


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def main():
    # No abbreviations: what is mistyped must not write pages.
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("lockstep", metavar="LOCKSTEP", help="the program, which knows what the pages say")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--check", action="store_true", help="write nothing, and fail where pages are stale")
    instead.add_argument("--install", metavar="FOLDER", type=Path,
                         help="write man1/, completions/lockstep and site-functions/_lockstep into it instead of pages")
    words = parser.parse_args()
    data = json.loads(subprocess.run([words.lockstep, "reference"], check=True, capture_output=True, text=True).stdout)
    if words.install:
        write(words.install, {**{f"man1/{name}": text for name, text in man_pages(data).items()},
                              "completions/lockstep": bash_completion(data),
                              "site-functions/_lockstep": zsh_completion(data)})
        return
    folder = ROOT / "docs/reference"
    pages = {**commands_pages(data), **config_pages(data), **models_page(data), **ops_page(data), **exit_codes_page(data)}
    old = {str(p.relative_to(folder)): p for p in folder.rglob("*.md") if MARK in p.read_text()}
    stale = sorted(name for name, text in pages.items() if name not in old or old[name].read_text() != text)
    stale += sorted(set(old) - set(pages))
    long = [name for name, text in pages.items() if text.count("\n") > MAX_LINES]
    if long:
        sys.exit(f"longer than {MAX_LINES} lines: {', '.join(long)}")
    if words.check:
        if stale:
            sys.exit(f"stale in docs/reference: {', '.join(stale)}; renew with: scripts/make_reference.py {words.lockstep}")
        return
    for name in set(old) - set(pages):
        old[name].unlink()
    write(folder, pages)


if __name__ == "__main__":
    main()
