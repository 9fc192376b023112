import os
import pickle

import pytest

from gymcore.vector.utils import CloudpickleWrapper, clear_mpi_env_vars


def test_a_closure_survives_pickling():
    value = 3
    wrapped = CloudpickleWrapper(lambda: value + 1)
    restored = pickle.loads(pickle.dumps(wrapped))
    assert wrapped() == wrapped.fn() == restored() == restored.fn() == 4


def test_a_plain_function_is_kept():
    assert CloudpickleWrapper(os.getpid).fn is os.getpid


@pytest.fixture
def mpi_variables(monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    monkeypatch.setenv("PMI_RANK", "2")
    monkeypatch.setenv("OMPIX", "3")
    return ["OMPI_COMM_WORLD_RANK", "PMI_RANK"]


def test_mpi_variables_are_hidden_inside(mpi_variables):
    with clear_mpi_env_vars():
        assert not any(name in os.environ for name in mpi_variables)
        assert os.environ["OMPIX"] == "3"
    assert [os.environ[name] for name in mpi_variables] == ["1", "2"]


def test_mpi_variables_come_back_after_an_error(mpi_variables):
    with pytest.raises(KeyError), clear_mpi_env_vars():
        raise KeyError
    assert [os.environ[name] for name in mpi_variables] == ["1", "2"]
