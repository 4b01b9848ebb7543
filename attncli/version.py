"""The version of attn."""

__version__ = "0.1.0"
