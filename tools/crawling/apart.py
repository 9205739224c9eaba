"""Reading of hostile pages in a process of its own, bounded in time and memory."""

import json
import os
import subprocess
import sys

import anyio

from tools.crawling.texts import PageText, Unreadable, kind_of, to_text
from tools.runtime.threads import in_thread

PATIENCE_S = 60.0
_COMMAND = "from tools.crawling.texts import main; main()"


async def read_apart(name: str, content_type: str, data: bytes) -> PageText:
    """Return the title and text of a page, as `to_text` does; HTML and PDF are read in a process of their own.

    Raises:
        Unreadable: As `to_text`, or it takes too much time or memory.
    """
    if kind_of(name, content_type) not in ("html", "pdf"):
        return await in_thread(to_text, name, content_type, data)
    # Without the secrets of this process. -P: the working directory must not shadow our modules.
    kept = {each: os.environ[each] for each in ("PATH", "SYSTEMROOT") if each in os.environ}
    environ = kept | {"PYTHONPATH": os.pathsep.join(each for each in sys.path if each), "PYTHONUTF8": "1"}
    command = [sys.executable, "-P", "-c", _COMMAND, name, content_type]
    try:
        with anyio.fail_after(PATIENCE_S):
            done = await anyio.run_process(command, input=data, env=environ, check=False, stderr=subprocess.DEVNULL)
        found = json.loads(done.stdout)
    except TimeoutError:
        raise Unreadable("takes too long to read") from None
    except ValueError:
        raise Unreadable("takes too much time or memory to read") from None
    if "wrong" in found:
        raise Unreadable(found["wrong"])
    return PageText(**found)
