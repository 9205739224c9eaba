"""Draft."""
import os, threading
import numpy as np
from stores.embedding.passages import split_passages
from stores.embedding.shipped import load_tokenizer
from stores.embedding.wordpiece import PASSAGE_TOKENS

class LateEncoder:
    model = "answerai-colbert-small-v1-int8-64@draft"
    width = 64
    def __init__(self) -> None:
        self._lock = threading.Lock(); self._s = None
    def _loaded(self):
        with self._lock:
            if self._s is None:
                os.environ["ORT_DISABLE_TELEMETRY"]="1"
                import onnxruntime
                o = onnxruntime.SessionOptions(); o.intra_op_num_threads = 1
                o.add_session_config_entry("session.intra_op.allow_spinning", "0")
                self.tok = load_tokenizer(); self.basis = np.load("basis.npy")[:, :64].copy()
                self._s = onnxruntime.InferenceSession("colbert.onnx", o, providers=["CPUExecutionProvider"])
            return self._s
    def _run(self, text, marker):
        s = self._loaded(); ids = self.tok.model_input(text); a = np.array([[ids[0], marker, *ids[1:]]], np.int64)
        v = s.run(None, {"input_ids": a, "attention_mask": np.ones_like(a), "token_type_ids": np.zeros_like(a)})[0][0] @ self.basis
        return v / np.linalg.norm(v, axis=1, keepdims=True)
    def encode_question(self, text): return self._run(text, 1).astype(np.float32)
    def encode_passage(self, text): return np.round(127 * self._run(text, 2)).astype(np.int8)
    def split(self, text): self._loaded(); return split_passages(text, self.tok, limit=PASSAGE_TOKENS)
    def close(self): self._s = None
