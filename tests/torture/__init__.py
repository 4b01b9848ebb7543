"""Torture campaign: kills, full disks, concurrent processes, and hostile input of every kind.

``make torture`` runs all of it; ``test_torture.py`` runs a short form. One table is printed: for
each attack, how many cases were tried and how many failed. Every case is derived from the seed.
"""
