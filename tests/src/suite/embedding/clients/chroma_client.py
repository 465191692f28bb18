"""Chroma's embedding functions: Hugging Face's server and OpenAI's. One argument, JSON: `url`, `key`."""

import json
import sys
import warnings

import openai
from chromadb.utils.embedding_functions import HuggingFaceEmbeddingServer, OpenAIEmbeddingFunction

# They warn of every key that is not in the environment.
warnings.simplefilter("ignore", DeprecationWarning)
task = json.loads(sys.argv[1])
url, key = task["url"], task["key"]
WORDS = ["world", "hello", "good day"]
VECTORS = [[5.0, 1.0, -5.0, 0.5], [4.0, 1.0, -4.0, 0.5], [6.5, 1.0, -6.5, 0.5]]


def same(found, wanted):
    assert [vector.tolist() for vector in found] == wanted, found


server = HuggingFaceEmbeddingServer(url=f"{url}/embed", api_key=key)
same(server(WORDS), VECTORS)
# It sends all documents at once.
same(server(["hello"] * 2048), [VECTORS[1]] * 2048)
same(HuggingFaceEmbeddingServer(url=f"{url}/tei/second/embed", api_key=key)(["hello"]), [[4.0, 2.0, -4.0, 0.5]])


def connect(model="first", key=key):
    return OpenAIEmbeddingFunction(api_key=key, model_name=model, api_base=f"{url}/v1")


same(connect()(WORDS), VECTORS)
same(connect("second")(["hello"]), [[4.0, 2.0, -4.0, 0.5]])
for function, kind, words in [
    (connect("third"), openai.BadRequestError, "no model with id `third` is loaded"),
    (connect(key="another"), openai.AuthenticationError, "unauthorized"),
]:
    try:
        function(["hello"])
    except kind as raised:
        assert words in str(raised), str(raised)
    else:
        raise AssertionError(f"{kind} was not raised")
