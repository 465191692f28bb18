"""OpenAI's Python SDK. One argument, JSON: `url`, `key`."""

import asyncio
import json
import sys

import openai

task = json.loads(sys.argv[1])
url, key = task["url"], task["key"]


def connect(path="/v1", api_key=key, kind=openai.OpenAI):
    return kind(base_url=url + path, api_key=api_key, max_retries=0)


def refused(error, code, words, call):
    """Asserts that `call` raises exactly `error`, which has our code and shows our message."""
    try:
        call()
    except openai.APIStatusError as raised:
        assert type(raised) is error, repr(raised)
        assert raised.code == code, raised.body
        assert raised.body["message"] in str(raised), str(raised)
        assert raised.request_id, "no x-request-id"
        assert words in raised.body["message"], raised.response.text
    else:
        raise AssertionError(f"{error.__name__} was not raised")


client = connect()
embeddings = client.embeddings.create

# The SDK asks for base64 by itself and decodes it.
one = embeddings(model="first", input="hello world")
assert (one.object, one.model, len(one.data)) == ("list", "first", 1)
assert list(one.data[0].embedding) == [4.5, 1.0, -4.5, 0.5], one
assert (one.usage.prompt_tokens, one.usage.total_tokens) == (2, 2)
raw = client.embeddings.with_raw_response.create(model="first", input="hello").http_response
assert json.loads(raw.request.content)["encoding_format"] == "base64"
assert raw.json()["data"][0]["embedding"] == "AACAQAAAgD8AAIDAAAAAPw=="

words = ["world", "hello", "mate", "hello", "good day"]
for encoding in [{}, {"encoding_format": "float"}]:
    many = embeddings(model="first", input=words, **encoding)
    assert [entry.index for entry in many.data] == [0, 1, 2, 3, 4]
    assert [entry.embedding[0] for entry in many.data] == [5.0, 4.0, 13.0, 4.0, 6.5], many
    assert many.usage.prompt_tokens == 6

assert list(embeddings(model="first", input="hello", dimensions=2).data[0].embedding) == [4.0, 1.0]
second = embeddings(model="second", input="hello")
assert (second.model, list(second.data[0].embedding)) == ("second", [4.0, 2.0, -4.0, 0.5])
prompted = embeddings(model="second", input="hello", user="me", extra_body={"prompt_name": "query"})
assert (prompted.data[0].embedding[0], prompted.usage.prompt_tokens) == (8.0, 2)
by_path = connect("/tei/second/v1").embeddings.create(model="whatever", input="hello")
assert (by_path.model, by_path.data[0].embedding[1]) == ("second", 2.0)

assert [model.id for model in client.models.list()] == ["first", "second"]
assert client.models.retrieve("second").object == "model"


async def at_once():
    async with connect(kind=openai.AsyncOpenAI) as client:
        return await asyncio.gather(*(client.embeddings.create(model="first", input=word) for word in words))


assert [answer.data[0].embedding[0] for answer in asyncio.run(at_once())] == [5.0, 4.0, 13.0, 4.0, 6.5]

bad, absent, locked = openai.BadRequestError, openai.NotFoundError, openai.AuthenticationError
refused(bad, "model_not_found", "`third`", lambda: embeddings(model="third", input="hello"))
refused(bad, "invalid_request", "empty", lambda: embeddings(model="first", input=[]))
refused(bad, "invalid_request", "1", lambda: embeddings(model="first", input=["hello", ""]))
refused(bad, "invalid_request", "dimensions", lambda: embeddings(model="first", input="hello", dimensions=9))
for ids in ([4, 5], [[4], [5]]):
    hint = "check_embedding_ctx_length=False"
    refused(bad, "invalid_request", hint, lambda ids=ids: embeddings(model="first", input=ids))
refused(absent, "not_found", "`third`", lambda: client.models.retrieve("third"))
elsewhere, stranger = connect("/tei/third/v1"), connect(api_key="another")
refused(absent, "not_found", "/tei/third", lambda: elsewhere.embeddings.create(model="first", input="hello"))
refused(locked, "unauthorized", "", lambda: stranger.embeddings.create(model="first", input="hello"))
refused(locked, "unauthorized", "", lambda: stranger.models.list())
