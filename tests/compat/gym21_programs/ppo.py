"""Proximal policy optimization over `gym.vector`, as single-file programs of 2021 were written."""

import gym
import numpy as np
from nets import Net


def make_env(gym_id, seed):
    def thunk():
        env = gym.make(gym_id)
        env = gym.wrappers.RecordEpisodeStatistics(env)
        env.seed(seed)
        env.action_space.seed(seed)
        env.observation_space.seed(seed)
        return env

    return thunk


def softmax(logits):
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


num_envs, num_steps, updates, gamma, lam, clip = 4, 128, 40, 0.99, 0.95, 0.2
rng = np.random.RandomState(1)
envs = gym.vector.SyncVectorEnv([make_env("CartPole-v1", 1 + i) for i in range(num_envs)])
assert isinstance(envs.single_action_space, gym.spaces.Discrete)
assert isinstance(envs, gym.vector.VectorEnv)
n_in, n_out = envs.single_observation_space.shape[0], envs.single_action_space.n
actor = Net([n_in, 32, n_out], rng, False, lr=5e-3)
critic = Net([n_in, 32, 1], rng, False, last=1.0, lr=5e-3)
shape = (num_steps, num_envs)
obs, actions = np.zeros((*shape, n_in)), np.zeros(shape, dtype=int)
logprobs, rewards, dones, values = (np.zeros(shape) for _ in range(4))
next_obs, next_done, returns = envs.reset(), np.zeros(num_envs), []
for _ in range(updates):
    for t in range(num_steps):
        obs[t], dones[t] = next_obs, next_done
        p = softmax(actor(next_obs))
        actions[t] = rng.rand(num_envs) > p[:, 0]
        logprobs[t] = np.log(p[np.arange(num_envs), actions[t]])
        values[t] = critic(next_obs)[:, 0]
        next_obs, rewards[t], next_done, info = envs.step(actions[t])
        for item in info:
            if "episode" in item:
                returns.append(item["episode"]["r"])
    advantages, last = np.zeros(shape), np.zeros(num_envs)
    next_value = critic(next_obs)[:, 0]
    for t in reversed(range(num_steps)):
        alive = 1.0 - (next_done if t == num_steps - 1 else dones[t + 1])
        following = next_value if t == num_steps - 1 else values[t + 1]
        last = rewards[t] + gamma * following * alive - values[t] + gamma * lam * alive * last
        advantages[t] = last
    b_obs, b_act, b_old = obs.reshape(-1, n_in), actions.ravel(), logprobs.ravel()
    b_adv, b_ret = advantages.ravel(), (advantages + values).ravel()
    for _ in range(4):
        order = rng.permutation(len(b_act))
        for mb in np.split(order, 4):
            adv = (b_adv[mb] - b_adv[mb].mean()) / (b_adv[mb].std() + 1e-8)
            p = softmax(actor(b_obs[mb]))
            chosen = p[np.arange(len(mb)), b_act[mb]]
            ratio = chosen / np.exp(b_old[mb])
            active = np.where(adv > 0, ratio < 1 + clip, ratio > 1 - clip)
            grad = p.copy()
            grad[np.arange(len(mb)), b_act[mb]] -= 1.0
            grad *= (adv * ratio * active / len(mb))[:, None]
            actor.update(actor.backward(grad)[0])
            error = critic(b_obs[mb])[:, 0] - b_ret[mb]
            critic.update(critic.backward(error[:, None] / len(mb))[0])
envs.close()
if __name__ == "__main__":  # Python 3.14 imports this program in each worker process
    with gym.vector.make("CartPole-v1", 2) as workers:
        assert workers.reset().shape == (2, 4) and len(workers.step([0, 1])) == 4
print(len(returns), round(float(np.mean(returns[:20]))), round(float(np.mean(returns[-20:]))))
assert np.mean(returns[:20]) < 60 and np.mean(returns[-20:]) > 150
