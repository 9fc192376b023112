"""Helpers used by the whole package. They import nothing from it except `gymcore.error`."""
