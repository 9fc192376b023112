"""TD3 as it was published in 2018 to 2020, in NumPy, on a pendulum."""

import gym
import numpy as np
from nets import Net, Replay


class TD3:
    def __init__(self, state_dim, action_dim, max_action, rng):
        self.rng, self.max_action, self.total_it = rng, max_action, 0
        self.actor = Net([state_dim, 32, 32, action_dim], rng)
        self.critics = [Net([state_dim + action_dim, 32, 32, 1], rng, last=0.3) for _ in "12"]
        self.actor_target = self.actor.clone()
        self.critic_targets = [critic.clone() for critic in self.critics]

    def select_action(self, state):
        return self.max_action * np.tanh(self.actor(state.reshape(1, -1))).flatten()

    def train(self, replay_buffer, batch_size=64, discount=0.98, tau=0.01):
        self.total_it += 1
        state, action, next_state, reward, done = replay_buffer.sample(batch_size)
        noise = np.clip(0.2 * self.rng.randn(*action.shape), -0.5, 0.5)
        next_action = np.clip(np.tanh(self.actor_target(next_state)) + noise, -1, 1)
        next_inputs = np.hstack((next_state, next_action))
        target_q = np.minimum(*(target(next_inputs) for target in self.critic_targets))
        target_q = reward + (1 - done) * discount * target_q
        inputs = np.hstack((state, action / self.max_action))
        for critic in self.critics:
            error = critic(inputs) - target_q
            critic.update(critic.backward(2 * error / batch_size)[0])
        if self.total_it % 2 == 0:
            squashed = np.tanh(self.actor(state))
            critic = self.critics[0]
            critic(np.hstack((state, squashed)))
            _, grad = critic.backward(np.full((batch_size, 1), -1.0 / batch_size))
            grad = grad[:, state.shape[1] :] * (1 - squashed**2)
            self.actor.update(self.actor.backward(grad)[0])
            self.actor_target.follow(self.actor, tau)
            for target, critic in zip(self.critic_targets, self.critics):
                target.follow(critic, tau)


def eval_policy(policy, env_name, seed, eval_episodes=5):
    eval_env = gym.make(env_name)
    eval_env.seed(seed + 100)
    avg_reward = 0.0
    for _ in range(eval_episodes):
        state, done = eval_env.reset(), False
        while not done:
            state, reward, done, _ = eval_env.step(policy.select_action(np.array(state)))
            avg_reward += reward
    return avg_reward / eval_episodes


env_name, seed, start_timesteps, max_timesteps = "Pendulum-v1", 0, 800, 6000
rng = np.random.RandomState(seed)
env = gym.make(env_name)
env.seed(seed)
env.action_space.seed(seed)
state_dim = env.observation_space.shape[0]
action_dim = env.action_space.shape[0]
max_action = float(env.action_space.high[0])
policy = TD3(state_dim, action_dim, max_action, rng)
replay_buffer = Replay(max_timesteps, state_dim, action_dim, rng)
before = eval_policy(policy, env_name, seed)

assert env._max_episode_steps == 200
state, done = env.reset(), False
episode_timesteps, bootstrapped = 0, 0
for t in range(max_timesteps):
    episode_timesteps += 1
    if t < start_timesteps:
        action = env.action_space.sample()
    else:
        action = policy.select_action(np.array(state))
        action = action + rng.normal(0, max_action * 0.1, size=action_dim)
        action = action.clip(-max_action, max_action)
    next_state, reward, done, _ = env.step(action)
    done_bool = float(done) if episode_timesteps < env._max_episode_steps else 0
    bootstrapped += done and not done_bool
    replay_buffer.add(state, action, next_state, 0.1 * reward, done_bool)
    state = next_state
    if t >= start_timesteps:
        policy.train(replay_buffer)
    if done:
        state, done = env.reset(), False
        episode_timesteps = 0

after = eval_policy(policy, env_name, seed)
print(round(before), round(after))
assert bootstrapped == max_timesteps // 200
assert before < -700 and after > -400, (before, after)
