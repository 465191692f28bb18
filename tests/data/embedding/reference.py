"""Makes the reference vectors beside this file; run by hand, and again only when texts or models change.

    pip install onnx==1.23.2 onnxruntime==1.32.0 tokenizers==0.23.3 model2vec==0.10.0 safetensors==0.8.0 numpy==2.4.6
    python reference.py MODELS

MODELS is the folder into which `bulkhead model pull` and the parity test put models. Encoders go through ONNX
Runtime in fp32, on a graph that is built here from the weights; static models through Python model2vec. For each
model `NAME.i16` holds `[texts, dims]` little-endian i16, a vector of length 1 times 32767 (a zero vector stays zero),
and `NAME.json` says what it was made of, and the tokens of each text after the cut.
"""

import hashlib
import importlib.metadata
import json
import pathlib
import platform
import sys

import numpy as np
import onnx
import onnxruntime
from model2vec import StaticModel
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from texts import texts

HERE = pathlib.Path(__file__).parent
MODELS = ["multilingual-e5-small", "all-MiniLM-L6-v2", "potion-base-8M", "tokenlearn-static-model"]
PACKAGES = ["model2vec", "numpy", "onnx", "onnxruntime", "safetensors", "tokenizers"]
# Tokens that a text keeps if the model does not say fewer.
MOST_TOKENS = 512
OPSET = 17


class Graph:
    """An ONNX graph in the making."""

    def __init__(self, weights):
        self.weights, self.nodes, self.constants = weights, [], []

    def op(self, kind, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def integers(self, *values):
        return self.constant(np.array(values, np.int64))

    def number(self, value):
        return self.constant(np.float32(value))

    def weight(self, name):
        return self.constant(self.weights[name].astype(np.float32))

    def linear(self, x, name):
        matrix = self.constant(self.weights[f"{name}.weight"].astype(np.float32).T)
        return self.op("Add", self.op("MatMul", x, matrix), self.weight(f"{name}.bias"))

    def norm(self, x, name, epsilon):
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)


def bert(folder):
    """BERT as in the paper, for one text without padding: `ids` `[1, n]` to token vectors `[1, n, hidden]`."""
    config = json.loads((folder / "config.json").read_text())
    hidden, heads, epsilon = config["hidden_size"], config["num_attention_heads"], config["layer_norm_eps"]
    assert config["hidden_act"] == "gelu" and config["model_type"] == "bert"
    graph = Graph(load_file(folder / "model.safetensors"))
    op = graph.op

    length = op("Gather", op("Shape", "ids"), graph.integers(1), axis=0)
    words = op("Gather", graph.weight("embeddings.word_embeddings.weight"), "ids")
    positions = graph.weight("embeddings.position_embeddings.weight")
    positions = op("Slice", positions, graph.integers(0), length, graph.integers(0))
    kind = graph.constant(graph.weights["embeddings.token_type_embeddings.weight"][0].astype(np.float32))
    x = graph.norm(op("Add", op("Add", words, positions), kind), "embeddings.LayerNorm", epsilon)
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"

        def split(part, order):
            y = graph.linear(x, f"{name}.attention.self.{part}")
            y = op("Reshape", y, graph.integers(0, 0, heads, hidden // heads))
            return op("Transpose", y, perm=order)

        query, key, value = split("query", [0, 2, 1, 3]), split("key", [0, 2, 3, 1]), split("value", [0, 2, 1, 3])
        scores = op("Div", op("MatMul", query, key), graph.number((hidden // heads) ** 0.5))
        y = op("MatMul", op("Softmax", scores, axis=-1), value)
        y = op("Reshape", op("Transpose", y, perm=[0, 2, 1, 3]), graph.integers(0, 0, hidden))
        y = op("Add", graph.linear(y, f"{name}.attention.output.dense"), x)
        x = graph.norm(y, f"{name}.attention.output.LayerNorm", epsilon)
        y = graph.linear(x, f"{name}.intermediate.dense")
        half = op("Mul", y, graph.number(0.5))
        error = op("Erf", op("Div", y, graph.number(2**0.5)))
        y = op("Mul", half, op("Add", error, graph.number(1.0)))
        y = op("Add", graph.linear(y, f"{name}.output.dense"), x)
        x = graph.norm(y, f"{name}.output.LayerNorm", epsilon)
    graph.nodes[-1].output[0] = "tokens"

    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "n"])
    tokens = helper.make_tensor_value_info("tokens", TensorProto.FLOAT, [1, "n", hidden])
    made = helper.make_graph(graph.nodes, "bert", [ids], [tokens], graph.constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = 9
    onnx.checker.check_model(model)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def encoder(folder, inputs):
    """Mean of the token vectors of each text, and its tokens."""
    pooling = json.loads((folder / "1_Pooling/config.json").read_text())
    assert pooling["pooling_mode_mean_tokens"]
    limit = json.loads((folder / "sentence_bert_config.json").read_text()).get("max_seq_length", MOST_TOKENS)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(min(limit, MOST_TOKENS))
    session = bert(folder)
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
    # It first cuts texts to so many characters a token, a shortcut; here the tokeniser alone cuts.
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
