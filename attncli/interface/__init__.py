"""The models for Python programs and notebooks; `attncli.load` opens one.

What stands here is the public interface: `load`, `Translator`, `Captioner`, `Classifier` and their
results. docs/python.md lists it.
"""
