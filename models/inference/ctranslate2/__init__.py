"""Second engine for text Transformers: CTranslate2, which needs no torch.

convert.py     weights of a bundle as a CTranslate2 model
cache.py       converted models in the user's cache, found by the digest of their bundle
translator.py  the translator, and which models it can run
export.py      a model for other programs

https://github.com/OpenNMT/CTranslate2
"""
