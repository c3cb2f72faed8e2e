"""The generated pages of docs/reference are those of the code, a stale one is found, and man pages and completions that
are made of the code work. Exit code 77 (last line: why) where man or zsh is not installed, after all other checks."""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCKSTEP = sys.argv[1]
MAKER = ROOT / "scripts/make_reference.py"


def check_pages(temporary):
    subprocess.run([sys.executable, "-B", MAKER, LOCKSTEP, "--check"], check=True)
    copy = temporary / "tree"
    (copy / "scripts").mkdir(parents=True)
    shutil.copy(MAKER, copy / "scripts")
    shutil.copytree(ROOT / "docs/reference", copy / "docs/reference")

    def refused(*names):
        done = subprocess.run([sys.executable, "-B", copy / "scripts/make_reference.py", LOCKSTEP, "--check"],
                              capture_output=True, text=True)
        wanted = f"stale in docs/reference: {', '.join(names)};"
        assert done.returncode == 1 and wanted in done.stderr, f"{wanted} not in:\n{done.stderr}"

    page = copy / "docs/reference/ops.md"
    page.write_text(page.read_text().replace("commutative", "commuting"))
    (copy / "docs/reference/models.md").unlink()
    shutil.copy(copy / "docs/reference/exit_codes.md", copy / "docs/reference/commands/gone.md")
    refused("models.md", "ops.md", "commands/gone.md")
    for words in (["--chekc"], ["--ch"], ["check"], ["--install"], ["--check", "--install", temporary / "no"]):
        done = subprocess.run([sys.executable, "-B", copy / "scripts/make_reference.py", LOCKSTEP, *words],
                              capture_output=True, text=True)
        assert done.returncode == 2 and "usage: " in done.stderr, f"{words} ended with {done.returncode}: {done.stderr}"
    # Still stale: a mistyped word wrote nothing.
    refused("models.md", "ops.md", "commands/gone.md")


def check_written_pages():
    """What the code has, and pages that are written by hand must name."""
    def lacks(page, source, pattern):
        text = (ROOT / "docs/reference" / page).read_text()
        names = set(re.findall(pattern, (ROOT / source).read_text()))
        assert names, f"{source}: nothing fits {pattern}"
        missing = sorted(name for name in names if name not in text)
        assert not missing, f"{page} lacks {missing} of {source}"

    lacks("environment.md", "core/base/settings.cpp", r'"([A-Z]+_[A-Z_a-z]+)"')
    lacks("metrics.md", "trainer/telemetry/record.cpp", r'"((?:perf|sim|memory)/\w+)"')
    lacks("checkpoint_format.md", "checkpoint/trainer_attributes.cpp", r'visit\("(\w+)"')
    lacks("cpp_api.md", "lockstep/lockstep.h", r'#include ".*/(\w+\.h)"')
    lacks("trace.md", "core/base/span_kinds.cpp", r'case LevelKind::\w+: return "([^"]+)"')


def bash(made, *words):
    call = f'source "{made}/completions/lockstep"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _lockstep; ' \
        'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", call, "bash", "lockstep", *words], cwd=made, capture_output=True, text=True)
    assert done.stderr == "", done.stderr
    return done.stdout.split()


def zsh(made, *words):
    """What the function offers, by stand-ins of the builtins that only zsh's line editor has; which of it begins like
    the last word is compadd's work there."""
    call = f'''
      compadd() {{ while [[ $1 != -- ]]; do [[ $1 == -S ]] && suffix=$2; shift; done; shift; print -rl -- ${{^@}}$suffix }}
      compset() {{ print -r -- "compset $*" }}
      _files() {{ print -r -- "files $*" }}
      run() {{ source "{made}/site-functions/_lockstep" }}
      words=(lockstep "$@"); CURRENT=${{#words}}; run'''
    done = subprocess.run(["zsh", "-f", "-c", call, "zsh", *words], cwd=made, capture_output=True, text=True)
    assert done.stderr == "", done.stderr
    offered = done.stdout.splitlines()
    assert offered, words
    return offered


def check_completions(made):
    (made / "runs/first").mkdir(parents=True)
    (made / "a.yaml").touch()
    (made / "a.txt").touch()
    assert bash(made, "tra") == ["train", "trace"], bash(made, "tra")
    assert bash(made, "ckpt", "l") == ["ls"]
    assert "--resume" in bash(made, "train", "--res")
    assert bash(made, "train", "a") == ["a.yaml"]
    assert bash(made, "train", "a.yaml", "optimizer.learning_r") == ["optimizer.learning_rate="]
    assert bash(made, "profile", "fir") == ["first"]
    if not shutil.which("zsh"):
        return "zsh is not installed"
    assert {"train", "trace", "ckpt"} < set(zsh(made, "tra")), zsh(made, "tra")
    assert zsh(made, "ckpt", "l") == ["ls", "inspect", "verify", "hash", "prune"]
    assert zsh(made, "train", "--res") == ["--resume", "--dry-run", "--help"]
    assert zsh(made, "train", "a") == ["files -g *.(yaml|yml)"]
    assert "optimizer.learning_rate=" in zsh(made, "train", "a.yaml", "optimizer.l")
    assert zsh(made, "train", "a.yaml", "run.dir=r") == ["compset -P *=", "files "]
    assert zsh(made, "profile", "fir") == ["first", "files "], zsh(made, "profile", "fir")
    return None


def warnings(page):
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", page], capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", "MANWIDTH": "100"})
    return done.stderr if done.stderr or done.returncode == 0 else f"man ended with {done.returncode}"


def check_man_pages(made):
    if not shutil.which("man"):
        return "man is not installed"
    pages = sorted((made / "man1").iterdir())
    assert pages
    for page in pages:
        assert warnings(page) == "", f"{page.name}: {warnings(page)}"
    bad = made / "bad.1"
    bad.write_text(pages[0].read_text() + ".nosuch macro\n")
    assert "nosuch" in warnings(bad)
    return None


with tempfile.TemporaryDirectory() as temporary:
    check_pages(Path(temporary))
    check_written_pages()
    made = Path(temporary) / "made"
    subprocess.run([sys.executable, "-B", MAKER, LOCKSTEP, "--install", made], check=True)
    missing = [reason for reason in (check_completions(made), check_man_pages(made)) if reason]
if missing:
    print("; ".join(missing))
    sys.exit(77)
