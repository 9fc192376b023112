"""A module with one environment class, and its base."""

from tests.environment.environments import Counter


class Base(Counter):
    pass


class Last(Base):
    pass


del Counter
