"""Makes the models and golden values of this folder with the reference libraries: transformers on PyTorch.

    pip install torch transformers tokenizers safetensors
    python make.py

Each model is tiny and random. Its weights are kept in half precision, and are rounded to it before the reference
calculates with them, in single precision. Not a part of any test run: the tests read what it left here.
"""

import json
import pathlib
import shutil
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForMaskedLM,
    DistilBertForSequenceClassification,
    DistilBertModel,
    GteConfig,
    GteModel,
    ModernBertConfig,
    ModernBertModel,
    MPNetConfig,
    MPNetForSequenceClassification,
    MPNetModel,
    NomicBertConfig,
    NomicBertModel,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaForSequenceClassification,
    XLMRobertaConfig,
    XLMRobertaModel,
)

HERE = pathlib.Path(__file__).parent
WORDS = """hello world the town hall opens at nine on monday passports and permits are issued in room twelve a new bin for
paper costs ten euros dogs must be registered parking is free after six what does it cost to move how do i apply where can
my child go school""".split()
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
PIECES = SPECIAL + list(dict.fromkeys(WORDS)) + ["##s", "##ing", "##er", ".", ",", "?"] + list("bcdefgh")
TEXTS = [
    "Hello world",
    "the town hall opens at nine on monday.",
    "what does a new bin for paper cost?",
    " ".join(["passports and permits are issued in room twelve,"] * 10),
]
PAIRS = [
    ("what does a passport cost?", "passports are issued in room twelve."),
    ("where can my child go to school", "the town hall opens at nine"),
    ("hello", " ".join(["parking is free after six."] * 14)),
    ("how do i apply?", "dogs must be registered, parking is free"),
]
SIZES = {"vocab_size": len(PIECES)}


def tokenizer(kind):
    """A WordPiece tokenizer with the template of BERT or of RoBERTa."""
    made = Tokenizer(models.WordPiece({piece: at for at, piece in enumerate(PIECES)}, unk_token="<unk>"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    first, last = ("<s>", 0), ("</s>", 2)
    template = processors.BertProcessing if kind == "bert" else processors.RobertaProcessing
    made.post_processor = template(last, first)
    return made


def randomise(model, seed):
    """Gives a model weights that matter: the reference's own first weights are almost 0."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            norm = "norm" in name.lower()
            if norm and name.endswith("weight"):
                weight.copy_(1 + 0.2 * torch.randn_like(weight))
            elif weight.ndim == 1:
                weight.copy_(0.1 * torch.randn_like(weight))
            elif "embeddings" in name:
                weight.copy_(torch.randn_like(weight))
            else:
                weight.copy_(torch.randn_like(weight) / weight.shape[1] ** 0.5)
            weight.copy_(weight.half().float())
    return model.eval()


def save(name, model, made, config=None, modules=()):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    wanted = model.config.to_diff_dict() | {"architectures": [type(model).__name__]} | (config or {})
    (folder / "config.json").write_text(json.dumps(wanted, indent=1, sort_keys=True) + "\n")
    made.save(str(folder / "tokenizer.json"), pretty=False)
    # Parameters that are tied to others are left out, as the reference does.
    weights = {key: value.half().contiguous().clone() for key, value in dict(model.named_parameters()).items()}
    save_file(weights, folder / "model.safetensors")
    if modules:
        listed = [{"idx": at, "name": str(at), "path": path, "type": kind} for at, (path, kind, _) in enumerate(modules)]
        (folder / "modules.json").write_text(json.dumps(listed, indent=1) + "\n")
        for path, _, settings in modules:
            if settings is not None:
                (folder / path).mkdir(exist_ok=True)
                (folder / path / "config.json").write_text(json.dumps(settings, indent=1) + "\n")
    return folder


def save_published(name, model, made, config):
    """Saves a model as its authors publish it: the reference writes its tensors under their names."""
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
    made.save(str(folder / "tokenizer.json"), pretty=False)
    with tempfile.TemporaryDirectory() as written:
        model.save_pretrained(written)
        weights = load_file(pathlib.Path(written) / "model.safetensors")
    save_file({key: value.half().contiguous() for key, value in weights.items()}, folder / "model.safetensors")


def inputs(made, text, types):
    encoded = made.encode(*text) if isinstance(text, tuple) else made.encode(text)
    given = {"input_ids": torch.tensor([encoded.ids])}
    if types:
        given["token_type_ids"] = torch.tensor([encoded.type_ids])
    return encoded, given


def numbers(tensor):
    return [round(value, 7) for value in tensor.flatten().tolist()]


def cases(model, made, texts, types, result):
    rows = []
    for text in texts:
        encoded, given = inputs(made, text, types)
        with torch.no_grad():
            found = result(model(**given))
        rows.append({"text": text, "ids": encoded.ids, "values": found})
    return rows


def mean(output):
    return output.last_hidden_state.mean(1)


def splade(pooling):
    def terms(output):
        weights = torch.log1p(torch.relu(output.logits[0]))
        weights = weights.amax(0) if pooling == "max" else weights.sum(0)
        return numbers(weights)

    return terms


SENTENCE = "sentence_transformers.models."
SPARSE = "sentence_transformers.sparse_encoder.models."


def main():
    golden = {}
    bert, roberta = tokenizer("bert"), tokenizer("roberta")
    shape = SIZES | {
        "hidden_size": 48, "num_hidden_layers": 1, "num_attention_heads": 3, "intermediate_size": 96,
        "max_position_embeddings": 100,
    }
    tied = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    distil = SIZES | {
        "dim": 48, "n_layers": 1, "n_heads": 3, "hidden_dim": 96, "max_position_embeddings": 100, "pad_token_id": 1,
    }

    model = randomise(XLMRobertaModel(XLMRobertaConfig(**shape | tied, type_vocab_size=1), add_pooling_layer=False), 1)
    save("xlm-roberta", model, roberta)
    unit = lambda vector: numbers(torch.nn.functional.normalize(vector, dim=1))
    golden["xlm-roberta"] = cases(model, roberta, TEXTS, False, lambda output: unit(mean(output)))

    config = MPNetConfig(**shape | tied | {"num_hidden_layers": 2}, relative_attention_num_buckets=32)
    model = randomise(MPNetModel(config, add_pooling_layer=False), 2)
    save("mpnet", model, roberta)
    golden["mpnet"] = cases(model, roberta, TEXTS, False, lambda output: unit(mean(output)))

    model = randomise(DistilBertModel(DistilBertConfig(**distil)), 3)
    dense = randomise(torch.nn.Linear(48, 24), 4)
    folder = save(
        "distilbert-dense", model, bert,
        modules=[
            ("", SENTENCE + "Transformer", None),
            ("1_Pooling", SENTENCE + "Pooling", {"word_embedding_dimension": 48, "pooling_mode_mean_tokens": True}),
            ("2_Dense", SENTENCE + "Dense", {
                "in_features": 48, "out_features": 24, "bias": True,
                "activation_function": "torch.nn.modules.activation.Tanh",
            }),
            ("3_Normalize", SENTENCE + "Normalize", None),
        ],
    )
    weights = {"linear." + key: value.half().contiguous() for key, value in dense.named_parameters()}
    save_file(weights, folder / "2_Dense" / "model.safetensors")
    after = lambda output: unit(torch.tanh(dense(mean(output))))
    golden["distilbert-dense"] = cases(model, bert, TEXTS, False, after)

    logits = lambda output: numbers(output.logits)
    model = randomise(BertForSequenceClassification(BertConfig(**shape, pad_token_id=1, num_labels=1)), 5)
    save("bert-cross", model, bert)
    golden["bert-cross"] = cases(model, bert, PAIRS, True, logits)

    labels = {0: "sad", 1: "fair", 2: "happy"}
    config = RobertaConfig(**shape | tied, type_vocab_size=1, id2label=labels, label2id={v: k for k, v in labels.items()})
    model = randomise(RobertaForSequenceClassification(config), 6)
    save("roberta-classes", model, roberta)
    golden["roberta-classes"] = cases(model, roberta, PAIRS + TEXTS, False, logits)

    config = MPNetConfig(**shape | tied, num_labels=1)
    model = randomise(MPNetForSequenceClassification(config), 7)
    save("mpnet-cross", model, roberta)
    golden["mpnet-cross"] = cases(model, roberta, PAIRS, False, logits)

    config = DistilBertConfig(**distil, num_labels=4, problem_type="multi_label_classification")
    model = randomise(DistilBertForSequenceClassification(config), 8)
    save("distilbert-labels", model, bert)
    golden["distilbert-labels"] = cases(model, bert, TEXTS, False, logits)

    for seed, name, model, made, types, pooling in [
        (9, "bert-splade", BertForMaskedLM(BertConfig(**shape, pad_token_id=1)), bert, True, "max"),
        (10, "distilbert-splade", DistilBertForMaskedLM(DistilBertConfig(**distil)), bert, False, "max"),
        (11, "roberta-splade", RobertaForMaskedLM(RobertaConfig(**shape | tied, type_vocab_size=1)), roberta, False, "sum"),
    ]:
        randomise(model, seed)
        save(name, model, made, modules=[
            ("", SPARSE + "MLMTransformer", None),
            ("1_SpladePooling", SPARSE + "SpladePooling", {"pooling_strategy": pooling, "activation_function": "relu"}),
        ])
        golden[name] = cases(model, made, TEXTS, types, splade(pooling))

    rope = lambda theta: {"rope_theta": theta, "rope_type": "default"}
    sizes = {"hidden_size": 48, "num_attention_heads": 3, "intermediate_size": 96}
    config = ModernBertConfig(
        **SIZES | sizes, num_hidden_layers=4, max_position_embeddings=120, local_attention=8, pad_token_id=1,
        bos_token_id=0, eos_token_id=2, cls_token_id=0, sep_token_id=2, attn_implementation="eager",
        rope_parameters={"full_attention": rope(500.0), "sliding_attention": rope(100.0)},
    )
    model = randomise(ModernBertModel(config), 12)
    save("modernbert", model, roberta, config={
        "global_rope_theta": 500.0, "local_rope_theta": 100.0, "global_attn_every_n_layers": 3,
    })
    golden["modernbert"] = cases(model, roberta, TEXTS, False, lambda output: unit(mean(output)))

    config = NomicBertConfig(
        **SIZES | sizes, num_hidden_layers=2, max_position_embeddings=120, pad_token_id=1, rope_parameters=rope(200.0),
    )
    model = randomise(NomicBertModel(config, add_pooling_layer=False), 13)
    save_published("nomic-bert", model, bert, SIZES | {
        "architectures": ["NomicBertModel"], "model_type": "nomic_bert", "n_embd": 48, "n_head": 3, "n_inner": 96, "n_layer": 2,
        "n_positions": 480, "max_trained_positions": 120, "rotary_emb_base": 200, "rotary_emb_fraction": 1.0,
        "rotary_emb_interleaved": False, "activation_function": "swiglu", "layer_norm_epsilon": 1e-12, "type_vocab_size": 2,
        "prenorm": False, "auto_map": {"AutoModel": "nomic-ai/nomic-bert-2048--modeling_hf_nomic_bert.NomicBertModel"},
    })
    golden["nomic-bert"] = cases(model, bert, TEXTS, True, lambda output: unit(mean(output)))

    # Its own code scales base and angles once more, by the factor, where that is above 1.
    factor, head = 2.0, 16
    config = GteConfig(
        **SIZES | sizes, num_hidden_layers=2, max_position_embeddings=120, pad_token_id=1, type_vocab_size=1,
        rope_parameters=rope(300.0 * factor),
    )
    model = randomise(GteModel(config, add_pooling_layer=False), 14)
    model.rotary_emb.inv_freq.div_(factor ** (2 / head))
    save_published("gte", model, roberta, SIZES | sizes | {
        "architectures": ["NewModel"], "model_type": "new", "num_hidden_layers": 2, "max_position_embeddings": 120,
        "position_embedding_type": "rope", "rope_theta": 300.0, "rope_scaling": {"type": "ntk", "factor": factor},
        "hidden_act": "gelu", "layer_norm_eps": 1e-12, "layer_norm_type": "layer_norm", "type_vocab_size": 1,
        "auto_map": {"AutoModel": "Alibaba-NLP/new-impl--modeling.NewModel"},
    })
    golden["gte"] = cases(model, roberta, TEXTS, False, lambda output: unit(mean(output)))

    made_by = {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]}
    lines = [f"{json.dumps(name)}: [\n  " + ",\n  ".join(map(json.dumps, rows)) + "\n ]" for name, rows in golden.items()]
    text = '{"made_by": ' + json.dumps(made_by) + ',\n "models": {\n ' + ",\n ".join(lines) + "\n}}\n"
    (HERE / "golden.json").write_text(text)


if __name__ == "__main__":
    main()
