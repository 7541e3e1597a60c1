"""Datasets of questions solved row by row, to find those whose record is wrong."""
