"""Train the judges of sentences and pairs: `python -m scripts.train_heads`, a minute on two cores.

The data in `benchmarks/heads` were written by five writers who knew neither the service nor each
other's lines; each set every fifth line aside (`held`), which is only counted here. The judges are
softmax regressions with a quadratic penalty, trained on all other lines.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from app.adapters.llm.onnx_encoder import MiniLm
from app.language.heads import (
    PAIR_CLASSES,
    SENTENCE_CLASSES,
    WEIGHTS,
    Array,
    pair_features,
    sentence_features,
)

Json = dict[str, Any]

_DATA = Path(__file__).parents[1] / "benchmarks" / "heads"
_PENALTY = {"sentences": 1e-3, "pairs": 3e-3}
_STEPS = 400
_RATE = 0.02
_SURE = (0.5, 0.6, 0.7, 0.8, 0.9)


def train(features: Array, classes: Array, number: int, penalty: float) -> Array:
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


def odds(features: Array, weights: Array) -> Array:
    """Return the probabilities of the classes, a row for each row of features."""
    powers = np.exp(features @ weights)
    found: Array = powers / powers.sum(axis=1, keepdims=True)
    return found


def _sentences(rows: Sequence[Json], model: MiniLm) -> tuple[Array, Array]:
    vectors = model.vectors([row["text"] for row in rows])
    befores = model.vectors([row["before"] for row in rows])
    features = [
        sentence_features(row["text"], row["before"], vector, before)
        for row, vector, before in zip(rows, vectors, befores, strict=True)
    ]
    labels = ["keep" if row["label"] == "remember" else row["label"] for row in rows]
    return np.stack(features), np.array([SENTENCE_CLASSES.index(label) for label in labels])


def _pairs(rows: Sequence[Json], model: MiniLm) -> tuple[Array, Array]:
    said = model.vectors([row["said"] for row in rows])
    stored = model.vectors([row["memory"] for row in rows])
    features = [
        pair_features(row["memory"], row["said"], vector, float(vector @ memory))
        for row, vector, memory in zip(rows, said, stored, strict=True)
    ]
    return np.stack(features), np.array([PAIR_CLASSES.index(row["label"]) for row in rows])


def _figures(found: Array, classes: Array, wanted: Sequence[int]) -> Iterator[str]:
    sure, is_so = found[:, wanted].sum(axis=1), np.isin(classes, wanted)
    for least in _SURE:
        chosen = sure >= least
        right = is_so[chosen].mean() if chosen.any() else 1.0
        yield f"{least}: {right:.0%} right, {chosen[is_so].mean():.0%} found"


def _report(title: str, found: Array, classes: Array, wanted: Sequence[int]) -> None:
    sys.stdout.write(f"{title:<22}{'; '.join(_figures(found, classes, wanted))}\n")


def main() -> None:
    """Train both judges, print their figures on the lines set aside, and write the weights."""
    model, weights = MiniLm(), {}
    for kind, made, classes in (
        ("sentences", _sentences, SENTENCE_CLASSES),
        ("pairs", _pairs, PAIR_CLASSES),
    ):
        lines = (_DATA / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        features, labels = made(rows, model)
        held = np.array([row["held"] for row in rows])
        trained = train(features[~held], labels[~held], len(classes), _PENALTY[kind])
        weights[kind.removesuffix("s")] = trained.astype(np.float16)
        found = odds(features[held], trained)
        share = (found.argmax(axis=1) == labels[held]).mean()
        sys.stdout.write(f"{kind}: {share:.1%} of {held.sum()} set aside\n")
        for name in ("keep", "forget") if kind == "sentences" else ("same",):
            _report(f"  {name}", found, labels[held], [classes.index(name)])
        if kind == "pairs":
            _report("  corrects or ends", found, labels[held], [1, 2])
    np.savez(WEIGHTS, **weights)  # type: ignore[arg-type]  # of numpy's own stub


if __name__ == "__main__":
    main()
