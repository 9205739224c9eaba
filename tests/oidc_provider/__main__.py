"""Serves on a free port of this machine, and prints the address first."""

import asyncio
import socket

import uvicorn

from tests.oidc_provider.application import Site

with socket.create_server(("127.0.0.1", 0)) as listener:
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    config = uvicorn.Config(Site(address).application(), log_config=None, lifespan="off")
    print(address, flush=True)  # noqa: T201 - whoever started us reads it
    asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))
