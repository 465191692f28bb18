"""Finds how the words of a text are compared: a projection of their vectors to few numbers, and their importance.

    ENV/bin/python host/inference/sources/adapters/late_interaction.py MODEL_FOLDER [ADAPTER [OUT]]

with the environment of train.py. MODEL_FOLDER is what `bulkhead model pull multilingual-e5-small` made, ADAPTER what
train.py wrote (town-hall.safetensors beside this file). Writes OUT (town-hall-late-interaction.safetensors). Learnt
from the pages and questions of tests/data/knowledge/training.jsonl alone.

The projection leaves out what words have in common by their language, and by being a question's or a page's; of the
rest it keeps the directions in which the words of pages differ the most (principal components). The importance of a
question's word is estimated from its vector, by ridge regression on how rare its token is in the pages.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from torch.nn import functional
from train import HERE, Encoder, lines, page, rarity, word_means

DIMS = 96
# Against weights that few words would make large.
RIDGE = 1.0
# Every so many words of pages is enough to find their directions by.
STEP = 5


@torch.no_grad()
def find(folder, adapter, out):
    encoder = Encoder(folder).eval()
    encoder.load(adapter)
    training = lines("training.jsonl")
    asked = [asked for passage in training for asked in passage["questions"]]
    passages = encoder.lower([page(passage) for passage in training], "passage: ")
    questions = encoder.lower([question["q"] for question in asked], "query: ")
    (_, pages), (_, spoken) = encoder.vectors(passages), encoder.vectors(questions)

    means = [
        word_means(pages, [passage["language"] for passage in training]),
        word_means(spoken, [question["language"] for question in asked]),
    ]
    centres = torch.stack([mean for own in means for mean in own.values()])
    middle = centres.mean(0)
    # The middle lies among the centres: one direction fewer than centres tells all of them apart.
    common = torch.linalg.svd(centres - middle, full_matrices=False).Vh[: len(centres) - 1]
    apart = torch.cat(pages)[::STEP] - middle
    apart = functional.normalize(apart - apart @ common.T @ common, dim=-1)
    projection = torch.linalg.svd(apart, full_matrices=False).Vh[:DIMS]
    projection = projection - projection @ common.T @ common

    telling = rarity(passages)
    wanted = torch.cat([telling(ids) for ids, _ in questions])
    words = torch.cat(spoken) - middle
    words = torch.cat([words, torch.ones(len(words), 1)], 1)
    importance = torch.linalg.solve(words.T @ words + RIDGE * torch.eye(words.shape[1]), words.T @ wanted)
    correlation = np.corrcoef((words @ importance).numpy(), wanted.numpy())[0, 1]
    print(f"importance and rarity of {len(wanted)} words: correlation {correlation:.3f}")

    weight, bias = importance[:-1], importance[-1]
    tensors = {
        "projection.weight": projection,
        "projection.bias": -projection @ middle,
        "importance.weight": weight[None],
        "importance.bias": (bias - weight @ middle)[None],
    }
    save_file({name: np.ascontiguousarray(tensor.numpy().astype(np.float32)) for name, tensor in tensors.items()}, out)


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    given = [Path(argument) for argument in sys.argv[1:]]
    files = [HERE / "town-hall.safetensors", HERE / "town-hall-late-interaction.safetensors"]
    find(given[0], *(given[1:] + files[len(given) - 1 :]))
