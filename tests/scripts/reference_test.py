"""The generated pages of docs/reference are those of the code; man pages and bash completion that are made of it work."""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

root = Path(__file__).resolve().parents[2]
lockstep = sys.argv[1]
maker = root / "scripts/make_reference.py"
subprocess.run([sys.executable, "-B", maker, lockstep, "--check"], check=True)


def complete(script, folder, *words):
    call = f'source "{script}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _lockstep; printf "%s\\n" "${{COMPREPLY[@]}}"'
    out = subprocess.run(["bash", "-c", call, "bash", "lockstep", *words], cwd=folder, capture_output=True, text=True)
    assert out.stderr == "", out.stderr
    return out.stdout.split()


with tempfile.TemporaryDirectory() as temporary:
    made = Path(temporary)
    subprocess.run([sys.executable, "-B", maker, lockstep, "--install", made], check=True)
    (made / "runs/first").mkdir(parents=True)
    (made / "a.yaml").touch()
    (made / "a.txt").touch()
    script = made / "completions/lockstep"
    assert complete(script, made, "tra") == ["train", "trace"], complete(script, made, "tra")
    assert complete(script, made, "ckpt", "l") == ["ls"]
    assert "--resume" in complete(script, made, "train", "--res")
    assert complete(script, made, "train", "a") == ["a.yaml"]
    assert "optimizer.learning_rate=" in complete(script, made, "train", "a.yaml", "optimizer.l")
    assert complete(script, made, "profile", "fir") == ["first"]
    for page in sorted((made / "man1").iterdir()):
        if shutil.which("man"):
            command = ["man", "--warnings", "-E", "UTF-8", "-l", page]
        elif shutil.which("groff"):
            command = ["groff", "-man", "-Tutf8", "-ww", "-z", page]
        else:
            print("neither man nor groff is installed")
            sys.exit(77)
        checked = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "MANWIDTH": "100"})
        assert checked.returncode == 0 and checked.stderr == "", f"{page.name}: {checked.stderr}"
