"""LlamaIndex's client for text-embeddings-inference. One argument, JSON: `url`, `key`."""

import asyncio
import json
import sys

from llama_index.embeddings.text_embeddings_inference import TextEmbeddingsInference

task = json.loads(sys.argv[1])
url, key = task["url"], task["key"]
WORDS = ["world", "hello", "mate", "hello", "good day"]
FIRST = [5.0, 4.0, 13.0, 4.0, 6.5]


def connect(path="", auth_token=key, **options):
    return TextEmbeddingsInference(model_name="first", base_url=url + path, auth_token=auth_token, **options)


client = connect()
assert client.get_text_embedding("hello world") == [4.5, 1.0, -4.5, 0.5]
assert client.get_query_embedding("hello") == [4.0, 1.0, -4.0, 0.5]
# In several requests.
batches = connect(embed_batch_size=2, truncate_text=False)
assert [vector[0] for vector in batches.get_text_embedding_batch(WORDS)] == FIRST
several = asyncio.run(batches.aget_text_embedding_batch(WORDS))
assert [vector[0] for vector in several] == FIRST

second = connect("/tei/second", query_instruction="ahoy", text_instruction="mate")
assert second.get_query_embedding("hello") == [8.0, 2.0, -8.0, 0.5]
assert second.get_text_embedding("hello") == [8.5, 2.0, -8.5, 0.5]

# It takes whatever comes for vectors, so a refusal must at least not look like one.
for stranger in [connect(auth_token="another"), connect("/tei/third")]:
    try:
        vector = stranger.get_text_embedding("hello")
    except Exception as raised:
        assert isinstance(raised, (KeyError, TypeError)), repr(raised)
    else:
        raise AssertionError(f"a refusal became {vector}")
