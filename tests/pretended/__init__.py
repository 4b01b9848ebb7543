"""A pretended GPU, on which every family trains and is used."""
