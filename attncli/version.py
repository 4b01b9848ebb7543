"""The version of attn."""

__version__ = "1.0.0"
