"""Hashes of labelled data, by which runs on the same data are told from others."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def digest_of(labelled: "Iterable[DataclassInstance]") -> str:
    """Return a hash of everything that records and labels say, in the order given; sets have none."""
    said = json.dumps([asdict(each) for each in labelled], default=sorted)
    return hashlib.sha256(said.encode()).hexdigest()
