"""Hugging Face's inference client. One argument, JSON: `url`, `key`."""

import asyncio
import json
import sys

import numpy
from huggingface_hub import AsyncInferenceClient, InferenceClient
from huggingface_hub.errors import HfHubHTTPError

task = json.loads(sys.argv[1])
url, key = task["url"], task["key"]


def same(found, wanted):
    assert found.dtype == numpy.float32 and found.tolist() == wanted, found


def refused(status, words, call):
    """Asserts that `call` raises, and shows our message."""
    try:
        call()
    except HfHubHTTPError as raised:
        assert raised.response.status_code == status, raised
        assert words in raised.response.json()["message"], raised.response.text
        # The client shows the status, too, which is all that our sentence for 401 says.
        assert words in str(raised).lower(), str(raised)
    else:
        raise AssertionError(f"{status} was not raised")


# It posts to the very address that it is given.
embed = InferenceClient(url, token=key).feature_extraction
same(embed("hello world"), [[4.5, 1.0, -4.5, 0.5]])
same(embed(["world", "hello"]), [[5.0, 1.0, -5.0, 0.5], [4.0, 1.0, -4.0, 0.5]])
same(embed("hello", dimensions=2), [[4.0, 1.0]])
same(embed("hello", truncate=True, truncation_direction="right"), [[4.0, 1.0, -4.0, 0.5]])
length = float(numpy.linalg.norm(embed("hello", normalize=True)))
assert abs(length - 1) < 1e-6, length
second = InferenceClient(url + "/tei/second", token=key).feature_extraction
same(second("hello", prompt_name="query"), [[8.0, 2.0, -8.0, 0.5]])
# `base_url` is `model` by another name.
same(InferenceClient(base_url=url + "/tei/second/embed", api_key=key).feature_extraction("hello"), [[4.0, 2.0, -4.0, 0.5]])
same(asyncio.run(AsyncInferenceClient(url, token=key).feature_extraction("hello")), [[4.0, 1.0, -4.0, 0.5]])

refused(400, "prompt", lambda: second("hello", prompt_name="question"))
refused(400, "dimensions", lambda: embed("hello", dimensions=9))
refused(401, "unauthorized", lambda: InferenceClient(url, token="another").feature_extraction("hello"))
refused(404, "/v1/models", lambda: InferenceClient(url + "/tei/third", token=key).feature_extraction("hello"))
