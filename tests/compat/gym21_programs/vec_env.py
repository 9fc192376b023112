"""Vector environments over pipes and in one process, as every code base had its own."""

import multiprocessing as mp
import pickle

import cloudpickle
import gym
import numpy as np


class CloudpickleWrapper:
    def __init__(self, x):
        self.x = x

    def __getstate__(self):
        return cloudpickle.dumps(self.x)

    def __setstate__(self, ob):
        self.x = pickle.loads(ob)


def worker(remote, parent_remote, env_fn_wrapper):
    parent_remote.close()
    env = env_fn_wrapper.x()
    while True:
        cmd, data = remote.recv()
        if cmd == "step":
            ob, reward, done, info = env.step(data)
            if done:
                info["terminal_observation"] = ob
                ob = env.reset()
            remote.send((ob, reward, done, info))
        elif cmd == "reset":
            remote.send(env.reset())
        elif cmd == "seed":
            remote.send(env.seed(data))
        elif cmd == "render":
            remote.send(env.render(mode="rgb_array"))
        elif cmd == "get_spaces":
            remote.send((env.observation_space, env.action_space, env.spec))
        elif cmd == "close":
            env.close()
            remote.close()
            break


class DummyVecEnv:
    def __init__(self, env_fns):
        self.envs = [fn() for fn in env_fns]
        self.num_envs = len(self.envs)
        self.observation_space = self.envs[0].observation_space
        self.action_space = self.envs[0].action_space

    def seed(self, seed):
        return [env.seed(seed + i) for i, env in enumerate(self.envs)]

    def reset(self):
        return np.stack([env.reset() for env in self.envs])

    def step_async(self, actions):
        self.actions = actions

    def step_wait(self):
        results = []
        for env, action in zip(self.envs, self.actions):
            ob, reward, done, info = env.step(action)
            if done:
                info["terminal_observation"] = ob
                ob = env.reset()
            results.append((ob, reward, done, info))
        return self._stack(results)

    @staticmethod
    def _stack(results):
        obs, rews, dones, infos = zip(*results)
        return np.stack(obs), np.stack(rews), np.stack(dones), infos

    def step(self, actions):
        self.step_async(actions)
        return self.step_wait()

    def get_images(self):
        return [env.render(mode="rgb_array") for env in self.envs]

    def close(self):
        for env in self.envs:
            env.close()


class SubprocVecEnv(DummyVecEnv):
    def __init__(self, env_fns):
        self.num_envs = len(env_fns)
        self.remotes, work_remotes = zip(*[mp.Pipe() for _ in env_fns])
        self.processes = []
        for work_remote, remote, fn in zip(work_remotes, self.remotes, env_fns):
            args = (work_remote, remote, CloudpickleWrapper(fn))
            process = mp.Process(target=worker, args=args, daemon=True)
            process.start()
            self.processes.append(process)
            work_remote.close()
        self.observation_space, self.action_space, self.spec = self._ask("get_spaces")[0]

    def _ask(self, cmd, data=None):
        for i, remote in enumerate(self.remotes):
            remote.send((cmd, None if data is None else data[i]))
        return [remote.recv() for remote in self.remotes]

    def seed(self, seed):
        return self._ask("seed", [seed + i for i in range(self.num_envs)])

    def reset(self):
        return np.stack(self._ask("reset"))

    def step_async(self, actions):
        for remote, action in zip(self.remotes, actions):
            remote.send(("step", action))

    def step_wait(self):
        return self._stack([remote.recv() for remote in self.remotes])

    def get_images(self):
        return self._ask("render")

    def close(self):
        for remote in self.remotes:
            remote.send(("close", None))
        for process in self.processes:
            process.join()


class NormalizedEnv(gym.ObservationWrapper):
    def observation(self, observation):
        return observation / np.array([2.4, 2.0, 0.2, 2.0], dtype=np.float32)


def make_env(rank):
    def _init():
        env = NormalizedEnv(gym.make("CartPole-v1"))
        env.seed(rank)
        return env

    return _init


def evolve(venv, generations, rng):
    """The cross-entropy method, one candidate in each environment."""
    mean, std, history = np.zeros(4), np.ones(4), []
    for _ in range(generations):
        weights = mean + std * rng.randn(venv.num_envs, 4)
        obs, totals = venv.reset(), np.zeros(venv.num_envs)
        alive = np.ones(venv.num_envs, dtype=bool)
        while alive.any():
            actions = ((obs * weights).sum(axis=1) > 0).astype(int)
            obs, rews, dones, infos = venv.step(actions)
            totals += rews * alive
            for i in np.flatnonzero(dones):
                assert infos[i]["terminal_observation"].shape == (4,)
            alive &= ~dones
        elite = weights[totals.argsort()[-4:]]
        mean, std = elite.mean(axis=0), elite.std(axis=0) + 0.1
        history.append(totals.mean())
    return history


if __name__ == "__main__":
    pair = (
        DummyVecEnv([make_env(i) for i in range(2)]),
        SubprocVecEnv([make_env(i) for i in range(2)]),
    )
    assert pair[0].observation_space == pair[1].observation_space
    assert pair[1].spec.id == "CartPole-v1"
    assert pair[0].seed(5) == pair[1].seed(5) == [[5], [6]]
    assert (pair[0].reset() == pair[1].reset()).all()
    for step in range(60):
        results = [venv.step([step % 2, 1]) for venv in pair]
        for one, other in zip(*(result[:3] for result in results)):
            assert (one == other).all()
        assert [set(info) for info in results[0][3]] == [set(info) for info in results[1][3]]
    assert np.array_equal(pair[0].get_images(), pair[1].get_images())
    pair[1].close()

    population = DummyVecEnv([make_env(i) for i in range(16)])
    history = evolve(population, 9, np.random.RandomState(0))
    print([round(mean) for mean in history])
    assert history[0] < 150 and max(history[-2:]) > 250, history
