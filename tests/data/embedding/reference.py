"""Makes the reference vectors beside this file; run by hand, and again only when texts or models change.

    pip install onnx==1.23.2 onnxruntime==1.32.0 tokenizers==0.23.3 model2vec==0.10.0 safetensors==0.8.0 numpy==2.4.6
    python reference.py MODELS

MODELS is the folder into which `bulkhead model pull` and the parity test put models. Encoders go through ONNX
Runtime in fp32, on a graph that `bert_graph.py` builds from the weights; static models through Python model2vec. For
each model `NAME.i16` holds `[texts, dims]` little-endian i16, a vector of length 1 times 32767 (a zero vector stays
zero), and `NAME.json` says what it was made of, and the tokens of each text after the cut.
"""

import hashlib
import importlib.metadata
import json
import pathlib
import platform
import sys

import numpy as np
import onnxruntime
from model2vec import StaticModel
from tokenizers import Tokenizer

from bert_graph import bert
from texts import texts

HERE = pathlib.Path(__file__).parent
MODELS = ["multilingual-e5-small", "all-MiniLM-L6-v2", "potion-base-8M", "tokenlearn-static-model"]
PACKAGES = ["model2vec", "numpy", "onnx", "onnxruntime", "safetensors", "tokenizers"]
# Tokens that a text keeps if the model does not say fewer.
MOST_TOKENS = 512


def encoder(folder, inputs):
    """Mean of the token vectors of each text, and its tokens."""
    pooling = json.loads((folder / "1_Pooling/config.json").read_text())
    assert pooling["pooling_mode_mean_tokens"]
    limit = json.loads((folder / "sentence_bert_config.json").read_text()).get("max_seq_length", MOST_TOKENS)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(min(limit, MOST_TOKENS))
    graph = bert(folder).SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    vectors, counts = [], []
    for text in inputs:
        ids = tokenizer.encode(text).ids
        (tokens,) = session.run(None, {"ids": np.array([ids], np.int64)})
        vectors.append(tokens[0].astype(np.float64).mean(axis=0))
        counts.append(len(ids))
    return np.array(vectors), counts


def static(folder, inputs):
    """What model2vec makes of each text, and the tokens of which the unknown ones are then dropped."""
    model = StaticModel.from_pretrained(folder, force_download=False)
    assert model.max_length == MOST_TOKENS
    # It first cuts texts to so many characters a token, a shortcut; here the tokenizer alone cuts.
    model.median_token_length = 1_000_000
    counts = [len(encoding.ids) for encoding in model.tokenizer.encode_batch(inputs, add_special_tokens=False)]
    return model.encode(inputs, use_multiprocessing=False).astype(np.float64), counts


def escaped(text):
    """JSON that shows what can be shown and escapes the rest."""
    units = lambda c: c.encode("utf-16-be").hex()
    escape = lambda c: "".join(f"\\u{units(c)[at:at + 4]}" for at in range(0, len(units(c)), 4))
    return "".join(c if c.isprintable() else escape(c) for c in json.dumps(text, ensure_ascii=False))


def main(models):
    inputs = texts()
    made = "[\n" + ",\n".join(escaped(text) for text in inputs) + "\n]\n"
    assert json.loads(made) == inputs
    (HERE / "texts.json").write_text(made, encoding="utf-8")
    for name in MODELS:
        folder = models / name
        record = json.loads((folder / "bulkhead.json").read_text())
        vectors, counts = (encoder if (folder / "1_Pooling").is_dir() else static)(folder, inputs)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
        (HERE / f"{name}.i16").write_bytes(np.rint(vectors * 32767).astype("<i2").tobytes())
        header = {
            "script": pathlib.Path(__file__).name,
            "python": platform.python_version(),
            "packages": {package: importlib.metadata.version(package) for package in PACKAGES},
            "model_id": record["model_id"],
            "wheel_sha256": record["archive_sha256"],
            "weights_sha256": hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest(),
            "texts_sha256": hashlib.sha256(made.encode()).hexdigest(),
            "dims": vectors.shape[1],
        }
        lines = json.dumps(header, indent=2)[:-2] + f',\n  "tokens": {json.dumps(counts)}\n}}\n'
        (HERE / f"{name}.json").write_text(lines)
        print(f"{name}: {len(counts)} texts, {min(counts)} to {max(counts)} tokens, {sum(counts)} in all")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
