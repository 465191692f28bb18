"""An HTTP component: greets, and echoes what is posted."""

from componentize_py_types import Err, Ok
from wit_world import exports
from wit_world.imports import streams
from wit_world.imports.types import (
    Fields,
    IncomingRequest,
    Method_Post,
    OutgoingBody,
    OutgoingResponse,
    ResponseOutparam,
)

# Bytes that a host takes at once.
CHUNK = 4096


def read_body(request: IncomingRequest) -> bytes:
    """Reads the whole body of a request."""
    parts = []
    with request.consume() as body, body.stream() as stream:
        while True:
            try:
                parts.append(stream.blocking_read(CHUNK))
            except Err as error:
                if isinstance(error.value, streams.StreamError_Closed):
                    return b"".join(parts)
                raise


def answer(request: IncomingRequest) -> tuple[int, bytes]:
    """Returns the status and the body of the answer."""
    path = (request.path_with_query() or "/").split("?")[0]
    if isinstance(request.method(), Method_Post):
        return 200, read_body(request)
    if path.startswith("/hello"):
        return 200, b"hello from Python\n"
    return 404, b"there is nothing here\n"


class IncomingHandler(exports.IncomingHandler):
    def handle(self, request: IncomingRequest, response_out: ResponseOutparam) -> None:
        status, text = answer(request)
        headers = Fields.from_list([("content-type", b"text/plain; charset=utf-8")])
        response = OutgoingResponse(headers)
        response.set_status_code(status)
        body = response.body()
        ResponseOutparam.set(response_out, Ok(response))
        with body.write() as stream:
            for start in range(0, len(text), CHUNK):
                stream.blocking_write_and_flush(text[start : start + CHUNK])
        OutgoingBody.finish(body, None)
