"""The engines, modes and processes of the tests of vector environments, for the compiled engine."""

from tests.vector.conftest import pytest_generate_tests, pytest_pyfunc_call

__all__ = ["pytest_generate_tests", "pytest_pyfunc_call"]
