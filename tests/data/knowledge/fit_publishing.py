"""Fits how certain an answer is (`components/answer/src/signs.rs`) on questions whose answers are known.

Asks a host that has these pages in its base and `tickets.answer.publish_percent = 100`, in a category with `auto_publish`. Of
the drafts that lack nothing but certainty it reads relevance and lead from the `reason`, and prints bias and weights, and
what would be published: fit_publishing.py URL CATEGORY ACTION PAGES QUESTIONS
"""

import json
import math
import re
import sys
import urllib.request

# The bounds of signs.rs.
GREATEST_LEAD = 0.06
RELEVANCE = (0.001, 0.999)
# As many examples as the weights are held back by.
PENALTY = 1.0
STEPS = 5000
CERTAINTIES = (0.6, 0.7, 0.8, 0.9)
LACKING = re.compile(
    r"\[uncertain\] (?:Die Antwort ist nur zu|The answer is only) .*\((?:Relevanz|relevance) (\d+) ?%, (?:Vorsprung|lead) ([\d.,]+) ?%\)\."
)


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def asked(url, category, action, text):
    body = json.dumps({"text": text, "category": category, "action": action}).encode()
    request = urllib.request.Request(f"{url}/api/v1/answer", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)


def features(relevance, lead):
    least, most = RELEVANCE
    relevance = min(max(relevance, least), most)
    return [min(lead, GREATEST_LEAD), math.log(relevance / (1 - relevance))]


def probability(bias, weights, row):
    return 1 / (1 + math.exp(-bias - sum(weight * value for weight, value in zip(weights, row))))


def fit(rows, right):
    """Logistic regression by descent on features of one spread."""
    count = len(rows)
    means = [sum(column) / count for column in zip(*rows)]
    spreads = [math.sqrt(sum((x - mean) ** 2 for x in column) / count) for column, mean in zip(zip(*rows), means)]
    scaled = [[(x - mean) / spread for x, mean, spread in zip(row, means, spreads)] for row in rows]
    bias, weights = 0.0, [0.0] * len(means)
    for _ in range(STEPS):
        errors = [probability(bias, weights, row) - is_right for row, is_right in zip(scaled, right)]
        bias -= sum(errors) / count
        for index, weight in enumerate(weights):
            slope = sum(error * row[index] for error, row in zip(errors, scaled)) + PENALTY * weight
            weights[index] -= slope / count
    weights = [weight / spread for weight, spread in zip(weights, spreads)]
    return bias - sum(weight * mean for weight, mean in zip(weights, means)), weights


def main():
    url, category, action, pages, questions = sys.argv[1:]
    ids = {}
    for page in lines(pages):
        ids.setdefault((page["title"].strip(), page.get("url", "")), set()).add(page["id"])
    rows, kinds = [], []
    for question in lines(questions):
        reply = asked(url, category, action, question["question"])
        found = LACKING.fullmatch(reply.get("reason") or "")
        if not found:
            continue
        right = set(question["answers"])
        cited = [ids.get((document["title"], document["url"]), set()) for document in reply["documents"]]
        is_right = all(document & right for document in cited)
        kinds.append("right" if is_right else "wrong" if right else "without an answer")
        rows.append(features(int(found[1]) / 100, float(found[2].replace(",", ".")) / 100))
    bias, weights = fit(rows, [kind == "right" for kind in kinds])
    print(f"{len(rows)} answers; bias {bias:.3f}, weights of lead and relevance {weights[0]:.2f} {weights[1]:.3f}")
    for certainty in CERTAINTIES:
        published = [kind for kind, row in zip(kinds, rows) if probability(bias, weights, row) >= certainty]
        print(certainty, {kind: published.count(kind) for kind in ("right", "wrong", "without an answer")})


main()
