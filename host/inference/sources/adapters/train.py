"""Teaches multilingual-e5-small to find a town hall's pages by citizens' questions.

    python -m venv ENV && ENV/bin/pip install numpy safetensors tokenizers torch
    ENV/bin/python host/inference/sources/adapters/train.py MODEL_FOLDER [OUT]

MODEL_FOLDER is what `bulkhead model pull multilingual-e5-small` made. Writes OUT (town-hall.safetensors beside this
file). Low-rank changes (LoRA, Hu et al. 2021) of the upper layers are learnt from tests/data/knowledge/training.jsonl;
after each epoch recall is shown on questions-dev.jsonl, which nothing is learnt from. Vectors of whole texts are what
a search compares; that words find words is asked of the model besides, for it then finds more.
"""

import json
import math
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[3] / "tests/data/knowledge"
LAYERS, HEADS, EPSILON, LONGEST = 12, 12, 1e-12, 256
# Tokens before a text's own: the begin mark and the prompt's two.
MARKS = 3
# The lower layers stay as they are and run once; the upper ones learn.
FIRST = 3
RANK, SCALE, DROPOUT = 16, 2.0, 0.1
EPOCHS, RATE, DECAY = 2, 5e-4, 0.01
# Passages of a batch, in groups that lie near each other: neighbours are what a question may be mistaken for.
BATCH, GROUP = 32, 8
# Weight of telling answers from other passages, against ordering them.
JUDGED = 0.3
MATRICES = [
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
]


class Matrix(nn.Module):
    """A linear layer, frozen, with a low-rank change where it learns."""

    def __init__(self, weight, bias, learns):
        super().__init__()
        self.weight, self.bias, self.inner = weight.float(), bias.float(), None
        if learns:
            outputs, inputs = weight.shape
            self.inner = nn.Parameter(torch.randn(RANK, inputs) / math.sqrt(inputs))
            self.outer = nn.Parameter(torch.zeros(outputs, RANK))

    def forward(self, states):
        result = functional.linear(states, self.weight, self.bias)
        if self.inner is not None:
            dropped = functional.dropout(states, DROPOUT, self.training)
            result = result + functional.linear(functional.linear(dropped, self.inner), self.outer) * SCALE
        return result


class Encoder(nn.Module):
    """The BertModel of a folder."""

    def __init__(self, folder):
        super().__init__()
        self.tensors = {name: tensor.float() for name, tensor in load_file(folder / "model.safetensors").items()}
        self.matrices = nn.ModuleDict()
        for layer in range(LAYERS):
            for name in MATRICES:
                place = f"encoder.layer.{layer}.{name}"
                weight, bias = self.tensors.pop(f"{place}.weight"), self.tensors.pop(f"{place}.bias")
                self.matrices[place.replace(".", "/")] = Matrix(weight, bias, layer >= FIRST)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(LONGEST)

    def norm(self, states, name):
        weight, bias = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]
        return functional.layer_norm(states, weight.shape, weight, bias, EPSILON)

    def layers(self, states, mask, numbers):
        texts, tokens, dims = states.shape
        heads = lambda values: values.view(texts, tokens, HEADS, dims // HEADS).transpose(1, 2)
        for number in numbers:
            place = f"encoder.layer.{number}"
            matrix = lambda name: self.matrices[f"{place}.{name}".replace(".", "/")]
            query, key, value = (heads(matrix(name)(states)) for name in MATRICES[:3])
            seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :].bool())
            seen = matrix(MATRICES[3])(seen.transpose(1, 2).reshape(texts, tokens, dims))
            states = self.norm(states + seen, f"{place}.attention.output.LayerNorm")
            wide = functional.gelu(matrix(MATRICES[4])(states))
            states = self.norm(states + matrix(MATRICES[5])(wide), f"{place}.output.LayerNorm")
        return states

    @torch.no_grad()
    def lower(self, texts, prompt):
        """The token ids of each text, and what the frozen layers make of it: [tokens, dims]."""
        ids = [encoding.ids for encoding in self.tokenizer.encode_batch([prompt + text for text in texts])]
        words, places, kinds = (
            self.tensors[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
        )
        found = []
        for own in ids:
            states = words[own] + places[: len(own)] + kinds[0]
            states = self.norm(states[None], "embeddings.LayerNorm")
            found.append(self.layers(states, torch.ones(1, len(own)), range(FIRST))[0].half())
        return list(zip(ids, found))

    def vectors(self, lower, at_once=64):
        """Vectors of length 1 from what the frozen layers made: [texts, dims]; and of each text those of its words."""
        order = sorted(range(len(lower)), key=lambda index: len(lower[index][0]))
        vectors, words = [None] * len(lower), [None] * len(lower)
        for begin in range(0, len(order), at_once):
            some = order[begin : begin + at_once]
            states = nn.utils.rnn.pad_sequence([lower[index][1].float() for index in some], batch_first=True)
            lengths = torch.tensor([len(lower[index][0]) for index in some])
            mask = (torch.arange(states.shape[1])[None] < lengths[:, None]).float()
            states = self.layers(states, mask, range(FIRST, LAYERS))
            pooled = (states * mask[..., None]).sum(1) / lengths[:, None]
            for index, vector, own, length in zip(some, functional.normalize(pooled, dim=-1), states, lengths):
                vectors[index], words[index] = vector, own[MARKS : length - 1]
        return torch.stack(vectors), words

    def load(self, path):
        """Adds what was learnt before to the weights."""
        factors = load_file(path)
        for name, matrix in self.matrices.items():
            inner, outer = (factors.get(f"{name.replace('/', '.')}.lora_{side}.weight") for side in "AB")
            if inner is not None:
                matrix.weight, matrix.inner = matrix.weight + outer.float() @ inner.float(), None

    def save(self, path):
        factors = {}
        for name, matrix in self.matrices.items():
            if matrix.inner is not None:
                place = name.replace("/", ".")
                factors[f"{place}.lora_A.weight"] = matrix.inner.detach().numpy().astype(np.float16)
                factors[f"{place}.lora_B.weight"] = (matrix.outer.detach() * SCALE).numpy().astype(np.float16)
        save_file(factors, path)


def lines(name):
    return [json.loads(line) for line in open(DATA / name, encoding="utf-8") if line.strip()]


def page(passage):
    return f"{passage['title']}\n{passage['text']}"


def apart(vectors, languages, means):
    """Passages without what their language has in common, as a search compares them."""
    mean = torch.stack([means[language] for language in languages])
    return functional.normalize(vectors - mean, dim=-1)


def means_of(vectors, languages):
    return {
        language: vectors[[own == language for own in languages]].mean(0).detach() for language in sorted(set(languages))
    }


def language_of(text):
    """German or English, by its frequent words."""
    german = {"der", "die", "das", "ich", "ist", "und", "wie", "wo", "wann", "was", "kann", "mein", "meine", "für", "nicht"}
    english = {"the", "is", "and", "how", "where", "when", "what", "can", "my", "for", "not", "do", "i", "a", "to", "of"}
    words = text.lower().replace("?", " ").replace(",", " ").split()
    return "en" if sum(word in english for word in words) > sum(word in german for word in words) else "de"


def word_means(words, languages):
    """Mean of the words of each language."""
    return {
        language: torch.cat([own for own, of in zip(words, languages) if of == language]).mean(0).detach()
        for language in sorted(set(languages))
    }


def words_apart(words, languages):
    """Word vectors of length 1 without what the words of their language have in common."""
    means = word_means(words, languages)
    return [functional.normalize(own - means[language], dim=-1) for own, language in zip(words, languages)]


def rarity(passages):
    """How much each token of a text tells: the rarer in passages, the more."""
    counts = Counter(token for ids, _ in passages for token in set(ids))
    rare = lambda token: math.log(1 + (len(passages) - counts[token] + 0.5) / (counts[token] + 0.5))
    return lambda ids: torch.tensor([rare(token) for token in ids[MARKS:-1]])


def shares(passages):
    """The same as shares of a text's whole: 1 in all."""
    telling = rarity(passages)

    def of(ids):
        weights = telling(ids)
        return weights / weights.sum().clamp(min=1e-6)

    return of


def nearest_words(asked, passages, weights):
    """For each word of a question the nearest one of a passage, by rarity (Khattab and Zaharia 2020)."""
    products = torch.cat(asked) @ torch.cat(passages).T
    nearest = torch.stack([part.max(1).values for part in products.split([len(own) for own in passages], 1)], 1)
    question = torch.repeat_interleave(torch.arange(len(asked)), torch.tensor([len(own) for own in asked]))
    found = torch.zeros(len(asked), len(passages))
    return found.index_add(0, question, nearest * torch.cat(weights)[:, None])


class Development:
    """The development questions, to see how far it is."""

    def __init__(self, encoder):
        self.encoder = encoder
        passages = lines("passages.jsonl")
        questions = lines("questions-dev.jsonl")
        names = [passage["id"] for passage in passages]
        self.languages = [passage["language"] for passage in passages]
        self.answers = [[names.index(answer) for answer in question["answers"]] for question in questions]
        self.passages = encoder.lower([page(passage) for passage in passages], "passage: ")
        self.questions = encoder.lower([question["question"] for question in questions], "query: ")

    @torch.no_grad()
    def show(self, epoch):
        self.encoder.eval()
        (vectors, _), (asked, _) = self.encoder.vectors(self.passages), self.encoder.vectors(self.questions)
        self.encoder.train()
        nearest = (asked @ vectors.T).max(1).values.numpy()
        products = (asked @ apart(vectors, self.languages, means_of(vectors, self.languages)).T).numpy()
        ranks = [
            1 + min(int((row > row[answer]).sum()) for answer in answers)
            for row, answers in zip(products, self.answers)
            if answers
        ]
        recall = [sum(rank <= depth for rank in ranks) / len(ranks) for depth in (1, 5, 10)]
        known = np.array([bool(answers) for answers in self.answers])
        pairs = nearest[known][:, None] > nearest[~known][None]
        print(f"epoch {epoch}: recall@1/5/10 {np.round(recall, 3)}, answerable separated {pairs.mean():.3f}", flush=True)


def groups(near, random):
    """Batches of passages, out of groups of neighbours."""
    left, batches, batch = set(range(len(near))), [], []
    for first in random.permutation(len(near)):
        if first not in left:
            continue
        group = [first] + [other for other in near[first] if other in left and other != first][: GROUP - 1]
        left -= set(group)
        batch += group
        while len(batch) >= BATCH:
            batches.append(batch[:BATCH])
            batch = batch[BATCH:]
    if len(batch) >= BATCH // 2:
        batches.append(batch)
    random.shuffle(batches)
    return batches


def train(folder, out):
    torch.manual_seed(0)
    random = np.random.RandomState(0)
    encoder = Encoder(folder)
    development = Development(encoder)
    training = lines("training.jsonl")
    languages = [passage["language"] for passage in training]
    passages = encoder.lower([page(passage) for passage in training], "passage: ")
    answered = [encoder.lower([asked["q"] for asked in passage["questions"]], "query: ") for passage in training]
    others = [encoder.lower(passage["unanswerable"], "query: ") for passage in training]
    other_languages = [[language_of(text) for text in passage["unanswerable"]] for passage in training]
    telling = shares(passages)
    with torch.no_grad():
        start, _ = encoder.eval().vectors(passages)
    means = means_of(start, languages)
    separate = apart(start, languages, means)
    near = (separate @ separate.T).argsort(dim=1, descending=True).tolist()
    encoder.train()
    development.show(0)

    # Sharpness of both orders; weights and bias that separate an answer from other passages.
    sharpness, judge = nn.Parameter(torch.tensor([3.4, 3.0])), nn.Parameter(torch.tensor([20.0, 25.0, -14.5]))
    factors = [parameter for parameter in encoder.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(
        [
            {"params": factors, "lr": RATE, "weight_decay": DECAY},
            {"params": [sharpness], "lr": 2e-2, "weight_decay": 0.0},
            {"params": [judge], "lr": 0.1, "weight_decay": 0.0},
        ]
    )
    steps = EPOCHS * math.ceil(len(training) / BATCH)
    step = 0
    for epoch in range(1, EPOCHS + 1):
        for batch in groups(near, random):
            done = step / steps
            warm = min(1.0, (step + 1) / (0.1 * steps))
            optimizer.param_groups[0]["lr"] = RATE * warm * 0.5 * (1 + math.cos(math.pi * done))
            own = [languages[index] for index in batch]
            questions = [lower for index in batch for lower in answered[index]]
            spoken = [asked["language"] for index in batch for asked in training[index]["questions"]]
            right = torch.tensor([place for place, index in enumerate(batch) for _ in answered[index]])
            questions += [lower for index in batch for lower in others[index]]
            spoken += [language for index in batch for language in other_languages[index]]
            vectors, words = encoder.vectors([passages[index] for index in batch], 32)
            asked, asked_words = encoder.vectors(questions)
            for language, mean in means_of(vectors, own).items():
                means[language] = 0.9 * means[language] + 0.1 * mean
            products = asked @ apart(vectors, own, means).T
            weights = [telling(ids) for ids, _ in questions]
            near_words = nearest_words(words_apart(asked_words, spoken), words_apart(words, own), weights)
            ordered = sum(
                functional.cross_entropy(order[: len(right)] * sharp.exp(), right)
                for order, sharp in zip([products, near_words], sharpness)
            )
            answers = torch.zeros_like(products)
            answers[torch.arange(len(right)), right] = 1.0
            evidence = judge[0] * products + judge[1] * near_words + judge[2]
            judged = functional.binary_cross_entropy_with_logits(evidence, answers, reduction="sum") / len(right)
            loss = ordered + JUDGED * judged
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(factors, 1.0)
            optimizer.step()
            step += 1
        development.show(epoch)
        encoder.save(out)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    train(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else HERE / "town-hall.safetensors")
