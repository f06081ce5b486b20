#!/usr/bin/env python3
"""Sends generated requests to a sandbox and compares its responses with docs/openapi.json.

usage: fuzz.py PATH-OF-FORMSVC PATH-OF-SCHEMATHESIS

The sandbox has no rate limit, so that generated requests do not end in 429; `check.py` covers 429.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
DOCUMENT = HERE.parents[1] / "docs" / "openapi.json"


def wait_for(ready, process):
    deadline = time.monotonic() + 30
    while not ready.exists():
        if time.monotonic() > deadline or process.poll() is not None:
            sys.exit("error: the sandbox did not start")
        time.sleep(0.05)
    return json.loads(ready.read_text())


def main(formsvc, schemathesis):
    with tempfile.TemporaryDirectory() as folder:
        ready = pathlib.Path(folder) / "ready.json"
        sandbox = [formsvc, "sandbox", "--port", "0", "--ready-file", str(ready), "--rate-limit", "off", "--quiet"]
        process = subprocess.Popen(sandbox, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            answer = wait_for(ready, process)
            key = f"Authorization: Bearer {answer['api_key']}"
            command = [schemathesis, "--config-file", HERE / "schemathesis.toml", "run", DOCUMENT]
            command += ["--url", answer["base_url"], "--header", key, "--checks", "all", "--no-color"]
            status = subprocess.run(command, cwd=folder).returncode
            if process.poll() is not None:
                sys.exit("error: the sandbox stopped during the test")
        finally:
            process.terminate()
            process.wait(30)
    sys.exit(status)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*(str(pathlib.Path(path).resolve()) for path in sys.argv[1:]))
