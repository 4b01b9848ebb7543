"""Second engine for text Transformers: CTranslate2, which needs no torch.

convert.py     weights of a bundle as a CTranslate2 model
cache.py       converted models in the user's cache
digest.py      digest of a bundle, by which the cache finds its conversion
translator.py  the translator
export.py      a model for other programs

https://github.com/OpenNMT/CTranslate2
"""
