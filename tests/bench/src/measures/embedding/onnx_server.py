"""ONNX Runtime behind a minimal server: uvicorn (uvloop, httptools), starlette, orjson, `tokenizers`.
`onnx_server.py MODEL_FOLDER CACHE DTYPE THREADS RUNS`: `RUNS` requests run at once, over `THREADS` threads each.
The first line on standard output is the address."""

import asyncio
import concurrent.futures
import socket
import sys

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from onnx_peer import Model


def main(folder, cache, dtype, threads, runs):
    model = Model(folder, cache, dtype, int(threads))
    pool = concurrent.futures.ThreadPoolExecutor(int(runs))

    async def embed(request):
        texts = orjson.loads(await request.body())["inputs"]
        vectors = await asyncio.get_running_loop().run_in_executor(pool, model.embed, texts)
        return Response(orjson.dumps(vectors, option=orjson.OPT_SERIALIZE_NUMPY), media_type="application/json")

    app = Starlette(routes=[Route("/embed", embed, methods=["POST"])])
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, loop="uvloop", http="httptools", access_log=False, log_level="warning")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main(*sys.argv[1:])
