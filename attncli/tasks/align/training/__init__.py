"""Training of a word aligner in stages."""
