"""The program that the README shows is the example."""
import re
import sys
from pathlib import Path

root = Path(__file__).resolve().parents[2]
shown = re.findall(r"```cpp\n(.*?)```", (root / "README.md").read_text(), re.S)
program = (root / "examples/own_model/main.cpp").read_text()
program = program[program.index("#include <lockstep/lockstep.h>"):]
if shown != [program]:
    sys.exit("README.md does not show examples/own_model/main.cpp as it is")
lines = [line for line in program.splitlines() if line.strip()]
if len(lines) > 45:
    sys.exit(f"the example has {len(lines)} lines of code, which is more than one reads at a glance")
