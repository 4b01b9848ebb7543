"""The version of attn."""

__version__ = "2.2.0"
