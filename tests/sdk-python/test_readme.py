"""The worker in the README, as it stands there."""

import re
import subprocess
import sys
from pathlib import Path

from harness import Server

README = Path(__file__).parents[2] / "README.md"


def test_the_workers_code_runs(shared_server: Server, tmp_path: Path) -> None:
    found = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert found, "the README has a worker in Python"
    program = tmp_path / "order.py"
    program.write_text(found[1].replace("127.0.0.1:7233", shared_server.address))
    ran = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=60
    )
    assert ran.stdout == "order 17 is paid\n", ran.stderr
