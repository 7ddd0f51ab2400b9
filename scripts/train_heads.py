"""Train the judges of sentences and pairs: `python -m scripts.train_heads`, four minutes.

The data in `benchmarks/heads` were written by 27 writers who knew neither the service nor each
other's lines. `sentences.jsonl` and `pairs.jsonl` have hard cases and plain ones, of which
every fifth is set aside (`held`). `talks.jsonl` has ordinary talks line by line; the last three of
each writer are set aside. Of these, a line is a sentence, and each earlier fact is a pair with a
later one: as it is labelled, or unrelated (the nearest ones are taken). Lines set aside are only
counted.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.adapters.llm.onnx_encoder import MiniLm
from app.language.heads import (
    NEAR,
    PAIR_CLASSES,
    SENTENCE_CLASSES,
    WEIGHTS,
    Array,
    odds_of,
    pair_features,
    sentence_features,
)

Json = dict[str, Any]
Classes = NDArray[np.int64]

_DATA = Path(__file__).parents[1] / "benchmarks" / "heads"
_PENALTY = {"sentence": 1e-3, "pair": 3e-3}
_STEPS = 400
_RATE = 0.02
_NEAREST = 6
"""Number of unrelated earlier facts of a talk that are taken for each fact."""
_HELD_TALKS = 3
"""Number of talks of each writer that are set aside, the last ones."""
_SURE = (0.15, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def train(features: Array, classes: Classes, number: int, penalty: float) -> Array:
    """Return the weights of a softmax regression, by Adam over all rows at once."""
    weights = np.zeros((features.shape[1], number), np.float32)
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    wanted = np.eye(number, dtype=np.float32)[classes]
    for step in range(1, _STEPS + 1):
        scores = features @ weights
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        errors = powers / powers.sum(axis=1, keepdims=True) - wanted
        slope = features.T @ errors / len(features) + penalty * weights
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        mean, spread = first / (1 - 0.9**step), second / (1 - 0.999**step)
        weights -= _RATE * mean / (np.sqrt(spread) + 1e-8)
    return weights


def _read(name: str) -> list[Json]:
    lines = (_DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _read_talks() -> list[Json]:
    lines = _read("talks")
    last = {line["writer"]: line["talk"] for line in lines}
    return [{**line, "held": line["talk"] > last[line["writer"]] - _HELD_TALKS} for line in lines]


def read_sentences() -> list[Json]:
    """Return all labelled sentences, each with the line before it."""
    lines = _read_talks()
    found = _read("sentences")
    for before, line in zip([{}, *lines], lines, strict=False):
        if line["role"] == "user":
            follows = before.get("talk") == line["talk"] and before["session"] == line["session"]
            said = before["text"] if follows else ""
            found.append({**line, "before": said, "held": line["held"]})
    return found


def read_pairs(model: MiniLm) -> list[Json]:
    """Return all labelled pairs; of a talk's unrelated ones, the nearest."""
    found = _read("pairs")
    for _, group in groupby(_read_talks(), key=lambda line: (line["writer"], line["talk"])):
        facts = [line for line in group if line.get("label") in {"keep", "remember", "forget"}]
        vectors = model.vectors([line["text"] for line in facts])
        ended: set[int] = set()
        for at, line in enumerate(facts):
            related = {one["n"]: one["relation"] for one in line.get("about", ())}
            cosines = vectors[:at] @ vectors[at]
            live = (n for n in range(at) if facts[n]["label"] != "forget" and n not in ended)
            # As the service does, which compares a sentence with the near ones alone.
            near = sorted((n for n in live if cosines[n] >= NEAR), key=lambda n: -cosines[n])
            others = [n for n in near if facts[n]["n"] not in related][:_NEAREST]
            ended |= {n for n in range(at) if related.get(facts[n]["n"]) in {"corrects", "ends"}}
            for n in [*others, *(n for n in near if facts[n]["n"] in related)]:
                label = related.get(facts[n]["n"], "unrelated")
                pair = {"memory": facts[n]["text"], "said": line["text"], "label": label}
                found.append({**pair, "held": line["held"], "talk": line["talk"]})
    return found


def _sentences(rows: Sequence[Json], model: MiniLm) -> tuple[Array, Classes]:
    vectors = _vectors(model, [row["text"] for row in rows])
    befores = _vectors(model, [row["before"] for row in rows])
    features = [
        sentence_features(row["text"], row["before"], vector, before)
        for row, vector, before in zip(rows, vectors, befores, strict=True)
    ]
    labels = ["keep" if row["label"] == "remember" else row["label"] for row in rows]
    return np.stack(features), np.array([SENTENCE_CLASSES.index(label) for label in labels])


def _pairs(rows: Sequence[Json], model: MiniLm) -> tuple[Array, Classes]:
    said = _vectors(model, [row["said"] for row in rows])
    stored = _vectors(model, [row["memory"] for row in rows])
    features: list[Array] = []
    for text, group in groupby(range(len(rows)), key=lambda at: rows[at]["said"]):
        places = list(group)
        cosines = [float(said[at] @ stored[at]) for at in places]
        memories = [rows[at]["memory"] for at in places]
        features += pair_features(memories, text, said[places[0]], cosines)
    return np.stack(features), np.array([PAIR_CLASSES.index(row["label"]) for row in rows])


def _vectors(model: MiniLm, texts: Sequence[str]) -> Array:
    distinct = sorted(set(texts))
    found = dict(zip(distinct, model.vectors(distinct), strict=True))
    return np.stack([found[text] for text in texts])


def _figures(found: Array, classes: Classes, wanted: Sequence[int]) -> Iterator[str]:
    sure, is_so = found[:, wanted].sum(axis=1), np.isin(classes, wanted)
    for least in _SURE:
        chosen = sure >= least
        right = is_so[chosen].mean() if chosen.any() else 1.0
        yield f"{least}: {right:.0%} right, {chosen[is_so].mean():.0%} found"


def _report(title: str, found: Array, classes: Classes, wanted: Sequence[int]) -> None:
    sys.stdout.write(f"{title:<22}{'; '.join(_figures(found, classes, wanted))}\n")


def main() -> None:
    """Train both judges, print their figures on the lines set aside, and write the weights."""
    model, weights = MiniLm(), {}
    for kind, rows, made, classes in (
        ("sentence", read_sentences(), _sentences, SENTENCE_CLASSES),
        ("pair", read_pairs(model), _pairs, PAIR_CLASSES),
    ):
        features, labels = made(rows, model)
        held = np.array([row["held"] for row in rows])
        of_talks = np.array(["talk" in row for row in rows])
        trained = train(features[~held], labels[~held], len(classes), _PENALTY[kind])
        weights[kind] = trained.astype(np.float16)
        for title, some in (("hard cases", held & ~of_talks), ("ordinary talks", held & of_talks)):
            found, wanted = odds_of(list(features[some]), trained), labels[some]
            share = (found.argmax(axis=1) == wanted).mean()
            sys.stdout.write(f"{kind}, {title}: {share:.1%} of {some.sum()} set aside\n")
            if kind == "sentence":
                _report("  keep", found, wanted, [0])
                _report("  forget", found, wanted, [1])
            else:
                _report("  same", found, wanted, [0])
                _report("  corrects or ends", found, wanted, [1, 2])
    np.savez(WEIGHTS, **weights)  # type: ignore[arg-type]  # of numpy's own stub


if __name__ == "__main__":
    main()
