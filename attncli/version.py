"""The version of attn."""

__version__ = "2.3.0"
