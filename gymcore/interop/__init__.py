"""Interfaces of other libraries for gymcore's environments, one module per library."""
