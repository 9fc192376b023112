import os
import pickle

import gymnasium
import pytest

import gymcore
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


@pytest.mark.parametrize("package", [gymcore, gymnasium])
def test_what_becomes_of_variables_as_in_gymnasium(package, monkeypatch):
    names = ["OMPI_A", "PMI_B", "PMIX_C", "MPI_D", "I_MPI_E", "PMI", "OMPI"]
    for name in names:
        monkeypatch.setenv(name, "before")
    with package.vector.utils.clear_mpi_env_vars():
        kept = [name for name in names if name in os.environ]
        monkeypatch.setenv("OMPI_A", "inside")
        monkeypatch.setenv("PMI_NEW", "inside")
    assert kept == ["PMIX_C", "MPI_D", "I_MPI_E", "PMI", "OMPI"]
    assert all(os.environ[name] == "before" for name in names)
    assert os.environ["PMI_NEW"] == "inside"


@pytest.mark.parametrize("package", [gymcore, gymnasium])
def test_the_wrapper_as_in_gymnasium(package):
    wrapped = package.vector.utils.CloudpickleWrapper(lambda: 5)
    for restored in (pickle.loads(pickle.dumps(wrapped)), wrapped):
        assert type(restored) is type(wrapped)
        assert list(vars(restored)) == ["fn"]
        assert restored() == restored.fn() == 5
