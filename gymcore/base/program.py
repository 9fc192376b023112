"""What is known of the program that uses this package."""

from __future__ import annotations

package = "gymcore"
"""The name under which the program imports this package; `gymcore.alias` changes it.

Messages and places of classes name this package, so that they are what the program expects.
"""
