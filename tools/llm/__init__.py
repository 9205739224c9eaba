"""Language models, where one is set up. Never needed: without one, or when it fails, rules do the same work."""

from tools.llm.building import build_language_model
from tools.llm.model import LanguageModel, ModelFailed, ModelSpec, Naming
from tools.llm.proposing import propose

__all__ = ["LanguageModel", "ModelFailed", "ModelSpec", "Naming", "build_language_model", "propose"]
