"""Answers with a line of text; at `/echo` with the request's body as it comes, at `/hash` with its digest, and at `/fetch` with
what the server answers that the header `url` names."""

import hashlib
from urllib.parse import urlsplit

from componentize_py_types import Err, Ok
from wit_world import exports
from wit_world.imports import outgoing_handler, streams
from wit_world.imports.types import (
    Fields,
    OutgoingBody,
    OutgoingRequest,
    OutgoingResponse,
    ResponseOutparam,
    Scheme_Http,
    Scheme_Https,
)

# Bytes that a host takes at once.
PIECE = 4096


def pieces(message):
    """Yields the body of a request or of a response as it comes."""
    with message.consume() as body, body.stream() as stream:
        while True:
            try:
                yield stream.blocking_read(PIECE)
            except Err as error:
                if isinstance(error.value, streams.StreamError_Closed):
                    return
                raise


def digest(request):
    """Yields the digest of a request's body."""
    sha256 = hashlib.sha256()
    for piece in pieces(request):
        sha256.update(piece)
    yield sha256.hexdigest().encode()


def fetch(url):
    """Returns the response of a server."""
    parts = urlsplit(url)
    request = OutgoingRequest(Fields())
    request.set_scheme(Scheme_Https() if parts.scheme == "https" else Scheme_Http())
    request.set_authority(parts.netloc)
    request.set_path_with_query((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
    future = outgoing_handler.handle(request, None)
    with future.subscribe() as ready:
        ready.block()
    answered = future.get().value
    if isinstance(answered, Err):
        raise answered
    return answered.value


def answer(request):
    """Returns the status, the fields and the pieces of the body."""
    route = (request.path_with_query() or "").split("?")[0].split("/")[-1]
    if route == "echo":
        return 200, [], pieces(request)
    if route == "hash":
        return 200, [], digest(request)
    if route == "fetch":
        response = fetch(request.headers().get("url")[0].decode())
        return response.status(), [], pieces(response)
    return 200, [("content-type", b"text/plain")], [b"Hello from Python\n"]


class IncomingHandler(exports.IncomingHandler):
    def handle(self, request, response_out):
        status, fields, parts = answer(request)
        response = OutgoingResponse(Fields.from_list(fields))
        response.set_status_code(status)
        body = response.body()
        ResponseOutparam.set(response_out, Ok(response))
        with body.write() as stream:
            for part in parts:
                stream.blocking_write_and_flush(part)
        OutgoingBody.finish(body, None)
