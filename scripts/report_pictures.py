#!/usr/bin/env python3
"""Makes the pictures of `lockstep report` in the documentation, from a run that it trains.

Usage: report_pictures.py [FOLDER]

Trains configs/gpt_quick.yaml on 2 ranks and the licence texts that every Debian has, reports on the
run, and photographs parts of the page with headless Chromium (packages chromium, chromium-driver
and python3-selenium): report.png and report_dark.png, the top of the page, and report_step.png.
FOLDER is docs/pictures. Takes about half a minute. Needs scripts/build.sh release first.
"""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[1]
LOCKSTEP = ROOT / "build" / "release" / "lockstep"
TEXTS = pathlib.Path("/usr/share/common-licenses")
STEPS = 200
WIDTH, HEIGHT = 1280, 1000


def train(folder):
    """The folder of a run with a ledger."""
    corpus = folder / "corpus.txt"
    texts = sorted(path for path in TEXTS.iterdir() if path.is_file() and not path.is_symlink())
    corpus.write_bytes(b"".join(path.read_bytes() for path in texts))
    subprocess.run(
        ["mpirun", "--allow-run-as-root", "--bind-to", "none", "--oversubscribe", "-n", "2", LOCKSTEP,
         "train", ROOT / "configs" / "gpt_quick.yaml", f"data.path={corpus}", f"run.dir={folder}",
         "run.name=gpt_quick", f"training.max_steps={STEPS}", "eval.interval=50", "profile.ledger=true"],
        check=True, stdout=subprocess.DEVNULL, cwd=folder)
    return folder / "gpt_quick"


def photograph(page, folder):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(word)
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    try:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                               {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False})
        for name, theme, section in (("report", "light", None), ("report_dark", "dark", None),
                                     ("report_step", "light", "step")):
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                   {"features": [{"name": "prefers-color-scheme", "value": theme}]})
            driver.get(page.as_uri())
            driver.execute_script("dispatchEvent(new Event('beforeprint'))")
            if section:
                driver.execute_script("document.getElementById(arguments[0]).scrollIntoView()", section)
            driver.save_screenshot(str(folder / f"{name}.png"))
    finally:
        driver.quit()


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    if not LOCKSTEP.exists():
        sys.exit("report_pictures.py: build/release/lockstep is missing: run scripts/build.sh release")
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        run = train(folder)
        page = folder / "report.html"
        # The name of the folder is on the page: it is relative.
        subprocess.run([LOCKSTEP, "report", run.name, "--output", page], check=True, cwd=folder)
        photograph(page, target)
    print(f"{target}: report.png, report_dark.png, report_step.png")


if __name__ == "__main__":
    main()
