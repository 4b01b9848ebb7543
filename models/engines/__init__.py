"""Trained models in use, in torch or CTranslate2: texts, images, labels and recordings."""
