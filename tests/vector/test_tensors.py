"""Tensors of PyTorch and arrays of JAX over the engine's memory, and as actions."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import gymcore as gym

N, T = 4, 6


def stepping(kept_as, steps=12):
    """Step, keep every result as a tensor, and return (kept, copies made at the time)."""
    envs = gym.make_vec("CartPole-v1", N)
    envs.reset(seed=1)
    kept, copies = [], []
    for t in range(steps):
        observations, rewards, *_ = envs.step(np.full(N, t % 2))
        copies.append((observations.copy(), rewards.copy()))
        kept.append((kept_as(observations), kept_as(rewards)))
        del observations, rewards
    return kept, copies


class TestTorch:
    @pytest.fixture
    def torch(self):
        return pytest.importorskip("torch")

    @pytest.mark.parametrize("how", ["from_numpy", "from_dlpack", "as_tensor"])
    def test_a_tensor_keeps_its_array(self, torch, how):
        kept, copies = stepping(getattr(torch, how))
        for tensors, arrays in zip(kept, copies, strict=True):
            for tensor, array in zip(tensors, arrays, strict=True):
                np.testing.assert_array_equal(tensor.numpy(), array)

    def test_nothing_is_copied_and_memory_comes_back(self, torch):
        envs = gym.make_vec("CartPole-v1", N)
        envs.reset(seed=1)
        actions, places = np.zeros(N, np.int64), set()
        for _ in range(20):
            observations = envs.step(actions)[0]
            tensor = torch.from_numpy(observations)
            assert tensor.data_ptr() == observations.ctypes.data
            places.add(tensor.data_ptr())
            del observations
        assert len(places) <= 3

    @pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
    @pytest.mark.parametrize("mode", [None, "sync"])
    def test_tensors_as_actions(self, torch, env_id, mode):
        results = []
        for convert in (torch.from_numpy, np.asarray):
            envs = gym.make_vec(env_id, N, vectorization_mode=mode)
            envs.reset(seed=1)
            actions = np.zeros(envs.action_space.shape, envs.action_space.dtype) + 1
            results.append([envs.step(convert(actions))[0] for _ in range(T)])
        np.testing.assert_array_equal(*results)

    @pytest.mark.parametrize("kind", ["plain", "shared", "pinned"])
    def test_steps_and_rollouts_into_tensors(self, torch, kind):
        if kind == "pinned" and not torch.cuda.is_available():
            pytest.skip("torch pins memory only with an accelerator")

        def empty(*shape, dtype):
            if kind == "pinned":
                return torch.empty(shape, dtype=dtype, pin_memory=True)
            tensor = torch.empty(shape, dtype=dtype)
            return tensor.share_memory_() if kind == "shared" else tensor

        tensors = {
            "observations": empty(T, N, 4, dtype=torch.float32),
            "rewards": empty(T, N, dtype=torch.float64),
            "terminated": empty(T, N, dtype=torch.bool),
            "truncated": empty(T, N, dtype=torch.bool),
        }
        actions = torch.randint(2, (T, N))
        envs, others = (gym.make_vec("CartPole-v1", N) for _ in range(2))
        envs.reset(seed=1), others.reset(seed=1)
        wanted = others.rollout(actions.numpy())
        envs.rollout(actions, **{name: tensor.numpy() for name, tensor in tensors.items()})
        for name, tensor in tensors.items():
            np.testing.assert_array_equal(tensor.numpy(), getattr(wanted, name))
            tensor.zero_()
        envs.reset(seed=1)
        tensors["rewards"] = empty(T, N, dtype=torch.float32)
        for t in range(T):
            rows = {name: tensor[t].numpy() for name, tensor in tensors.items()}
            envs.step_into(actions[t], **rows)
        for name, tensor in tensors.items():
            np.testing.assert_array_equal(tensor.numpy(), getattr(wanted, name))

    def test_a_policy_of_tensors(self, torch):
        from gymcore.learn import RolloutCollector

        def policy(observations):
            rows = torch.as_tensor(observations)
            return (rows[:, 2] > 0).long(), rows[:, 0], rows.sum(dim=1)

        collector = RolloutCollector(gym.make_vec("CartPole-v1", N), policy, T, seed=1)
        rollout = collector.collect()
        np.testing.assert_array_equal(rollout.actions, rollout.observations[..., 2] > 0)
        np.testing.assert_array_equal(rollout.log_probs, rollout.observations[..., 0])


def test_jax_keeps_its_array_too():
    jax = pytest.importorskip("jax")
    kept, copies = stepping(
        lambda array: array if array.dtype == float else jax.numpy.from_dlpack(array)
    )
    for tensors, arrays in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(np.asarray(tensors[0]), arrays[0])
    envs = gym.make_vec("CartPole-v1", N)
    envs.reset(seed=1)
    assert envs.step(jax.numpy.ones(N, dtype=int))[0].shape == (N, 4)


ENDINGS = {  # how a program ends: its last statement, and the last line of its errors
    "normal": ("pass", []),
    "closed": ("envs.close()", []),
    "sys.exit": ("raise SystemExit(0)", []),
    "exception": ("raise KeyError('mine')", ["KeyError: 'mine'"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_programs_with_workers_end_print_no_other_errors(context, ending, tmp_path):
    pytest.importorskip("torch")
    last, errors = ENDINGS[ending]
    program = tmp_path / "program.py"
    program.write_text(
        "import gymcore as gym\n"
        "def make(): return gym.make('CartPole-v1')\n"
        "if __name__ == '__main__':\n"
        "    import torch\n"
        f"    envs = gym.vector.AsyncVectorEnv([make] * 2, context={context!r})\n"
        "    envs.reset(seed=1)\n"
        "    envs.step(torch.zeros(2, dtype=torch.int64))\n"
        f"    {last}\n"
    )
    result = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    assert result.stderr.count("Traceback") == len(errors)
    assert result.stderr.strip().splitlines()[-1:] == errors
