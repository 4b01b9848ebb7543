"""The version of attn."""

__version__ = "2.1.0"
