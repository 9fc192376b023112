"""A module with one class of environments, and its base."""

from tests.environment.environments import Counter


class Base(Counter):
    pass


class Last(Base):
    pass


del Counter
