"""The version of Gym, which programs read from this module."""

VERSION = "0.26.2"
