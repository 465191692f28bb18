"""LangChain's embeddings: Hugging Face's endpoint and OpenAI's. One argument, JSON: `url`, `key`."""

import asyncio
import json
import sys

import openai
import tiktoken
import tiktoken.registry
from langchain_huggingface import HuggingFaceEndpointEmbeddings
from langchain_openai import OpenAIEmbeddings

task = json.loads(sys.argv[1])
url, key = task["url"], task["key"]
WORDS = ["world", "hello", "good day"]
VECTORS = [[5.0, 1.0, -5.0, 0.5], [4.0, 1.0, -4.0, 0.5], [6.5, 1.0, -6.5, 0.5]]

endpoint = HuggingFaceEndpointEmbeddings(model=url, huggingfacehub_api_token=key)
assert endpoint.embed_documents(WORDS) == VECTORS
assert endpoint.embed_query("hello") == VECTORS[1]
assert asyncio.run(endpoint.aembed_query("hello")) == VECTORS[1]
second = HuggingFaceEndpointEmbeddings(
    model=f"{url}/tei/second", huggingfacehub_api_token=key, model_kwargs={"prompt_name": "query", "normalize": False}
)
assert second.embed_query("hello") == [8.0, 2.0, -8.0, 0.5]


def connect(**options):
    return OpenAIEmbeddings(model="first", base_url=f"{url}/v1", api_key=key, max_retries=0, **options)


texts = connect(check_embedding_ctx_length=False)
assert texts.embed_documents(WORDS) == VECTORS
assert texts.embed_query("hello") == VECTORS[1]
assert connect(check_embedding_ctx_length=False, dimensions=2).embed_query("hello") == [4.0, 1.0]
assert connect(check_embedding_ctx_length=False, chunk_size=2).embed_documents(WORDS) == VECTORS

# By default it sends token ids. Its vocabulary, which it would download, is one of bytes here.
tiktoken.registry.ENCODINGS["cl100k_base"] = tiktoken.Encoding(
    "cl100k_base", pat_str=r"\S+|\s+", mergeable_ranks={bytes([byte]): byte for byte in range(256)}, special_tokens={}
)
try:
    connect().embed_documents(WORDS)
except openai.BadRequestError as raised:
    assert "check_embedding_ctx_length=False" in str(raised), raised.response.text
else:
    raise AssertionError("token ids were taken")
