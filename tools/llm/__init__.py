"""Language models. Optional: rules replace a missing or failing one."""

from tools.llm.building import build_language_model
from tools.llm.model import LanguageModel, ModelFailed, ModelSpec, Naming

__all__ = ["LanguageModel", "ModelFailed", "ModelSpec", "Naming", "build_language_model"]
