"""Alignments as data: pairs, links, files of other programs."""
