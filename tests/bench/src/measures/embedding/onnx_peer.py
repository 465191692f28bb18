"""A model folder under ONNX Runtime: the graph in fp32, or in eight bits by ONNX Runtime's own quantisation."""

import hashlib
import logging
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer

import bert_graph

# Of a text; the model's own limit.
MOST_TOKENS = 512


class Model:
    """`threads` share each run; graphs that were made before are in `cache`."""

    def __init__(self, folder, cache, dtype, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        file = graph(pathlib.Path(folder), pathlib.Path(cache), dtype)
        self.session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MOST_TOKENS)

    def run(self, inputs):
        """Vectors `[b, dims]` of padded inputs, not normalised."""
        return self.session.run(None, inputs)[0]

    def embed(self, texts):
        """Vectors `[b, dims]` of texts, of length 1."""
        vectors = self.run(padded([encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts)]))
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def padded(texts):
    """Ids of texts as the graph wants them, padded to the longest."""
    ids = np.zeros((len(texts), max(map(len, texts))), np.int64)
    mask = np.zeros_like(ids)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = text
        mask[row, : len(text)] = 1
    return {"ids": ids, "mask": mask}


def graph(folder, cache, dtype):
    """The graph's file, made at first."""
    parts = [(folder / "bulkhead.json").read_bytes(), *(pathlib.Path(m).read_bytes() for m in (__file__, bert_graph.__file__))]
    key = hashlib.sha256(b"\0".join([onnxruntime.__version__.encode(), *parts])).hexdigest()[:16]
    files = {name: cache / f"{folder.name}-{key}-{name}.onnx" for name in ("float32", "int8")}
    cache.mkdir(parents=True, exist_ok=True)
    if not files["float32"].exists():
        save(files["float32"], lambda file: onnx.save(bert_graph.bert(folder, padded=True), file))
    if dtype == "int8" and not files["int8"].exists():
        logging.disable(logging.WARNING)
        # The quickest and the most exact of the ways there are on processors with VNNI.
        options = {"weight_type": QuantType.QInt8, "per_channel": True}
        save(files["int8"], lambda file: quantize_dynamic(files["float32"], file, **options))
    return files[dtype]


def save(file, write):
    """Nobody finds a file that is not whole."""
    part = file.with_suffix(".part")
    write(part)
    part.rename(file)
