"""BERT as an ONNX graph, built from a model folder's own weights."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

OPSET = 17
# What padding is worth before the softmax.
MASKED = -10_000.0


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


def bert(folder, padded=False):
    """BERT as in the paper. For one text: `ids` `[1, n]` to token vectors `tokens` `[1, n, hidden]`. Padded, for
    several: `ids` and `mask` `[b, n]`, 1 for a token and 0 for padding, to the means of their tokens `vectors`
    `[b, hidden]`."""
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
    if padded:
        mask = op("Cast", "mask", to=TensorProto.FLOAT)
        padding = op("Sub", graph.number(1.0), op("Unsqueeze", mask, graph.integers(1, 2)))
        padding = op("Mul", padding, graph.number(MASKED))
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"

        def split(part, order):
            y = graph.linear(x, f"{name}.attention.self.{part}")
            y = op("Reshape", y, graph.integers(0, 0, heads, hidden // heads))
            return op("Transpose", y, perm=order)

        query, key, value = split("query", [0, 2, 1, 3]), split("key", [0, 2, 3, 1]), split("value", [0, 2, 1, 3])
        scores = op("Div", op("MatMul", query, key), graph.number((hidden // heads) ** 0.5))
        if padded:
            scores = op("Add", scores, padding)
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
    integers = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.INT64, shape)
    floats = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    if padded:
        kept = op("Mul", x, op("Unsqueeze", mask, graph.integers(2)))
        kept = op("ReduceSum", kept, graph.integers(1), keepdims=0)
        op("Div", kept, op("ReduceSum", mask, graph.integers(1), keepdims=1))
        inputs, output = [integers("ids", ["b", "n"]), integers("mask", ["b", "n"])], floats("vectors", ["b", hidden])
    else:
        inputs, output = [integers("ids", [1, "n"])], floats("tokens", [1, "n", hidden])
    graph.nodes[-1].output[0] = output.name

    made = helper.make_graph(graph.nodes, "bert", inputs, [output], graph.constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = 9
    onnx.checker.check_model(model)
    return model
