"""Training data that the program generates itself: a grammar of sentence pairs, drawn scenes."""
