"""Models and built-in readers behind one small seam."""

from michelangelo.models.model import Completion, Model, Request
from michelangelo.models.registry import key_names, model_names, open_model, provider, providers, unregister_provider

__all__ = [
    "Completion",
    "Model",
    "Request",
    "key_names",
    "model_names",
    "open_model",
    "provider",
    "providers",
    "unregister_provider",
]
