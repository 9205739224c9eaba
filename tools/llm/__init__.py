"""Language models. Optional: rules replace a missing or failing one."""

from tools.llm.building import build_language_model
from tools.llm.model import LanguageModel, ModelFailed, ModelSpec, Naming
from tools.llm.proposing import propose

__all__ = ["LanguageModel", "ModelFailed", "ModelSpec", "Naming", "build_language_model", "propose"]
