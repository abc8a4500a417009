"""Trusses and beams."""
