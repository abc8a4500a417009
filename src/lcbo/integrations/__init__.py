"""Doors: lcbo inside the tools people already have, one module per tool; none is loaded before it is used."""
