"""Vector environments and policies for actors, importable in their processes."""

from __future__ import annotations

import os
import time

import numpy as np

import gymcore as gym


def cartpole(num_envs=4, mode="SameStep", **arguments):
    options = {"autoreset_mode": mode, "num_threads": 1}
    return gym.make_vec("CartPole-v1", num_envs, vector_kwargs=options, **arguments)


def blackjack():
    return gym.make_vec("Blackjack-v1", 5, vector_kwargs={"autoreset_mode": "SameStep"})


def pendulum():
    return gym.make_vec("Pendulum-v1", 3, vector_kwargs={"autoreset_mode": "SameStep"})


def linear(weights, observations, generator):
    """Draw actions; return them and their log-probabilities."""
    first = 1 / (1 + np.exp(observations @ weights))
    actions = (generator.random(len(first)) >= first).astype(np.int64)
    return actions, {"log_probability": np.log(np.where(actions, 1 - first, first))}


def random_bits(weights, observations, generator):
    return generator.integers(0, 2, len(np.atleast_1d(observations[0])))


def failing(weights, observations, generator):
    if weights == "fail":
        raise ZeroDivisionError("the policy divides by zero")
    return np.zeros(len(observations), np.int64)


class Once:
    """An action that one of the actors does once: a file records that it was done."""

    def __init__(self, path, what):
        self.path = path
        self.what = what

    def __call__(self, weights, observations, generator):
        if weights == "now":
            try:
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                self.what()
        return generator.integers(0, 2, len(observations))


def die():
    os.kill(os.getpid(), 9)


def sleep():
    time.sleep(3.0)
