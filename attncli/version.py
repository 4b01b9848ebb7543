"""The version of attn."""

__version__ = "1.1.0"
