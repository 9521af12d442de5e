#!/usr/bin/env python3
"""Fits the model of argiope-article (data/model.bin) to pages with known texts. Needs numpy and lightgbm.

    cargo run --release -p argiope-article --example article -- features PAGES FEATURES
    train/fit.py FEATURES TEXTS [--half] MODEL

PAGES has SET/NAME.html; FEATURES gets SET__NAME.jsonl, a line for each block: its text and its numbers. TEXTS has for
each page one of

    SET__NAME.txt    the text that is wanted
    SET__NAME.json   {"texts": [...], "with": [...], "without": [...]}: texts of several extractors, which are believed
                     where they agree, and pieces of text that are known to be wanted or not

With --half only pages whose name hashes to an even number are used; measure on the others.
"""

import hashlib
import json
import re
import struct
import sys
from pathlib import Path

import lightgbm
import numpy

TREES = 160
SETTINGS = {
    "objective": "binary",
    "learning_rate": 0.08,
    "num_leaves": 24,
    "min_data_in_leaf": 60,
    "feature_fraction": 0.6,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "seed": 1,
    "verbose": -1,
}
# Numbers that say a block is a caption: texts of different makers have them or not, so nothing is learned of those.
CAPTIONS = (22, 36)
TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")


def tokens(text):
    return TOKEN.findall(text.lower())


def blank(text):
    return re.sub(r"\s+", " ", text.replace("\xa0", " ")).strip()


def covered_by(text):
    """How much of a block (as tokens) stands in a text, by triples of words; short blocks as whole lines."""
    words = tokens(text)
    triples = {tuple(words[at : at + 3]) for at in range(len(words) - 2)}
    lines = {" ".join(tokens(line)) for line in text.split("\n")}

    def share(block):
        if len(block) >= 3:
            own = [tuple(block[at : at + 3]) for at in range(len(block) - 2)]
            return sum(triple in triples for triple in own) / len(own)
        return float(bool(block) and " ".join(block) in lines)

    return share


def labels_of(path, blocks, numbers):
    """Label and weight of each block."""
    split = [tokens(block) for block in blocks]
    if path.suffix == ".txt":
        share = covered_by(path.read_text())
        labels = [float(share(block) >= 0.6) for block in split]
        weights = [0.6 * (row[CAPTIONS[0]] == 0) for row in numbers]
        return labels, weights
    known = json.loads(path.read_text())
    shares = [covered_by(text) for text in known.get("texts", [])]
    wanted = [blank(piece) for piece in known.get("with") or []]
    unwanted = [blank(piece) for piece in known.get("without") or []]
    labels, weights = [], []
    for block, text in zip(split, map(blank, blocks)):
        votes = [share(block) >= 0.6 for share in shares]
        label = float(votes[0]) if votes else 0.0
        weight = 0.0 if not votes else 0.7 if len(set(votes)) == 1 else 0.08
        if any(piece in text for piece in wanted):
            label, weight = 1.0, 4.0
        elif any(piece in text for piece in unwanted):
            label, weight = 0.0, 4.0
        labels.append(label)
        weights.append(weight)
    return labels, weights


def is_even(name):
    return int(hashlib.md5(name.encode()).hexdigest(), 16) % 2 == 0


def load(features, texts, half):
    rows, labels, weights = [], [], []
    for path in sorted(Path(features).glob("*.jsonl")):
        name = path.stem.split("__", 1)[-1]
        known = [Path(texts) / (path.stem + ending) for ending in (".txt", ".json")]
        known = next((file for file in known if file.exists()), None)
        blocks = [json.loads(line) for line in path.read_text().splitlines()]
        if known is None or not blocks or (half and not is_even(name)):
            continue
        page = numpy.array([row for _, row in blocks], dtype=numpy.float32)
        label, weight = labels_of(known, [text for text, _ in blocks], page)
        # Long blocks are worth more, and so are the blocks of small pages.
        size = numpy.sqrt(numpy.minimum([len(text) for text, _ in blocks], 400) / 60).clip(0.35, 2.2)
        rows.append(page)
        labels.append(label)
        weights.append(numpy.array(weight) * size / max(1.0, (len(blocks) / 60) ** 0.5))
    return numpy.vstack(rows), numpy.concatenate(labels), numpy.concatenate(weights)


def packed(tree):
    """A tree as the program reads it: parents before children, leaves as -1 - number."""
    nodes, leaves = [], []

    def add(node):
        if "leaf_value" in node:
            leaves.append(node["leaf_value"])
            return -len(leaves)
        at = len(nodes)
        nodes.append(None)
        threshold = numpy.float32(node["threshold"])
        if threshold > node["threshold"]:
            threshold = numpy.nextafter(threshold, numpy.float32(-numpy.inf))
        left, right = add(node["left_child"]), add(node["right_child"])
        nodes[at] = struct.pack("<Bfhh", node["split_feature"], threshold, left, right)
        return at

    if "leaf_value" in tree["tree_structure"]:
        return b""
    add(tree["tree_structure"])
    return struct.pack("<H", len(nodes)) + b"".join(nodes) + struct.pack(f"<{len(leaves)}f", *leaves)


def main():
    half = "--half" in sys.argv
    features, texts, model = [argument for argument in sys.argv[1:] if argument != "--half"]
    rows, labels, weights = load(features, texts, half)
    used = weights > 0
    data = lightgbm.Dataset(rows[used], labels[used], weight=weights[used])
    fitted = lightgbm.train(SETTINGS, data, num_boost_round=TREES)
    dump = fitted.dump_model()
    Path(model).write_bytes(b"".join(packed(tree) for tree in dump["tree_info"]))
    print(f"{used.sum()} blocks, {len(dump['tree_info'])} trees")


if __name__ == "__main__":
    main()
