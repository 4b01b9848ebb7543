"""The version of attn."""

__version__ = "2.0.0"
