"""Text: vocabularies, normalisation, languages, labels, words of a sentence."""
