"""Language models. Optional: rules replace a missing or failing one."""

from tools.llm.model import LanguageModel, ModelFailed, ModelSpec, Naming, build_language_model

__all__ = ["LanguageModel", "ModelFailed", "ModelSpec", "Naming", "build_language_model"]
