"""Lists, deques and sets that grow, in attributes and local variables."""

from __future__ import annotations

from collections import deque
from importlib.util import find_spec

import numpy as np
import pytest

import gymcore as gym
from gymcore import error, jit, spaces
from gymcore.jit.conversion.converter import converted_text
from tests.jit.conversion.rare_statements import is_right


class Worm(gym.Env):
    """A list of tuples that grows at one end and shrinks at the other."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = spaces.Box(0, 3, (8, 8), np.int8)
    action_space = spaces.Discrete(4)
    MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))

    def __init__(self, render_mode=None):
        self.render_mode = render_mode
        self.drawn = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.body = [(4, 4), (4, 3)]
        self.drawn = [(4, 4)]
        self._place_food()
        return self._grid(), {"length": len(self.body)}

    def _place_food(self):
        free = [(r, c) for r in range(8) for c in range(8) if (r, c) not in self.body]
        self.food = free[self.np_random.integers(len(free))]

    def _grid(self):
        grid = np.zeros((8, 8), dtype=np.int8)
        for r, c in self.body:
            grid[r, c] = 1
        head = self.body[0]
        grid[head] = 2
        grid[self.food] = 3
        return grid

    def step(self, action):
        dr, dc = self.MOVES[action]
        head = self.body[0]
        new = (head[0] + dr, head[1] + dc)
        self.drawn.append(new)
        if not (0 <= new[0] < 8 and 0 <= new[1] < 8) or new in self.body[:-1]:
            return self._grid(), -1.0, True, False, {"length": len(self.body)}
        self.body.insert(0, new)
        reward = 0.0
        if new == self.food:
            reward = 1.0
            self._place_food()
        else:
            self.body.pop()
        return self._grid(), reward, False, False, {"length": len(self.body)}

    def render(self):
        cells = [[(r, c) in self.body for c in range(8)] for r in range(8)]
        return np.repeat(np.array(cells, np.uint8)[..., None] * 255, 3, axis=2)


class Queue(gym.Env):
    """Orders that arrive some days later, and customers who wait."""

    observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float64)
    action_space = spaces.Discrete(4)

    def __init__(self, delay=3):
        self.delay = delay

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.pipeline = [0] * self.delay
        self.waiting = []
        self.stock = 10
        return self._observation(), {}

    def _observation(self):
        mean = np.mean(self.waiting) if self.waiting else 0.0
        return np.array([self.stock, len(self.waiting), sum(self.pipeline), mean])

    @staticmethod
    def _serve(waiting, stock):
        served = []
        while waiting and stock > 0:
            served.append(waiting.pop(0))
            stock -= 1
        return served

    def step(self, action):
        self.stock += self.pipeline.pop(0)
        self.pipeline.append(int(action))
        for _ in range(self.np_random.integers(4)):
            self.waiting.append(self.np_random.random())
        served = self._serve(self.waiting, self.stock)
        self.stock -= len(served)
        reward = sum(served) - 0.1 * self.stock
        if self.waiting and max(self.waiting) > 0.95:
            self.waiting.remove(max(self.waiting))
        if len(self.waiting) > 6:
            self.waiting.clear()
            self.waiting += [0.5, 0.25]
        if not self.waiting:
            reward += self.waiting.count(0.5) + 0.5
        return self._observation(), reward, False, False, {"served": len(served)}


class Hoard(Queue):
    """A list that grows much more under a policy than with random actions."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.coins = [0]
        return self._observation(), {}

    def step(self, action):
        if action == 3:
            self.coins.append(1)
        elif len(self.coins) > 1:
            self.coins.pop()
        return self._observation(), float(len(self.coins)), False, False, {}


class History(gym.Env):
    """Deques with and without `maxlen`, of numbers and of arrays."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = spaces.Box(-np.inf, np.inf, (11,), np.float32)
    action_space = spaces.Discrete(3)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode
        self.frames = deque(maxlen=3)
        self.rewards = deque([1.0, 2.0], maxlen=20)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.v = self.np_random.normal(size=2)
        self.frames.clear()
        self.rewards.clear()
        self.actions = deque([0] * 4, maxlen=4)
        self.orders = deque(k % 2 for k in range(2))
        for _ in range(3):
            self.frames.append(np.array([self.x, self.v]))
        return self._observation(), {}

    def _observation(self):
        parts = [np.concatenate(self.frames), np.array([*self.actions, self.x])]
        return np.concatenate(parts).astype(np.float32)

    def step(self, action):
        self.orders.append(int(action))
        self.orders.appendleft(self.orders[-1])
        self.v = 0.9 * self.v + 0.1 * (self.orders.popleft() - 1) + 0.01 * self.orders.popleft()
        self.x += self.v
        self.frames.append(self.frames[0])  # which is the one that drops out
        self.frames.appendleft(np.array([self.x, self.v]))
        self.actions.extend([action, 2, 1][: 1 + action])
        for k in reversed(range(1, self.actions.maxlen)):
            self.x += 0.01 * self.actions[k] * k
        self.rewards.append(-abs(self.x))
        is_full = len(self.rewards) == self.rewards.maxlen
        reward = float(sum(self.rewards)) + len(set(self.actions))
        return self._observation(), reward, is_full and self.rewards[0] < -0.5, False, {}

    def render(self):
        values = [*self.actions, *self.rewards, self.rewards.maxlen, *np.concatenate(self.frames)]
        return np.array(values).astype(np.uint8)[:4, None].repeat(12).reshape(4, 4, 3)


class Explorer(gym.Env):
    """Sets of tuples and of numbers."""

    observation_space = spaces.Box(0, 3, (5, 5), np.int8)
    action_space = spaces.Discrete(4)
    MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))

    def _reaches_the_end(self):
        waiting, seen = deque([(0, 0)]), {(0, 0)}
        while waiting:
            r, c = waiting.popleft()
            if (r, c) == (4, 4):
                return True
            for dr, dc in self.MOVES:
                cell = (r + dr, c + dc)
                is_inside = 0 <= cell[0] < 5 and 0 <= cell[1] < 5
                if is_inside and cell not in seen and not self.walls[cell[0], cell[1]]:
                    seen.add(cell)
                    waiting.append(cell)
        return False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.walls = np.ones((5, 5), dtype=bool)
        while not self._reaches_the_end():
            self.walls = self.np_random.random((5, 5)) < 0.3
            self.walls.flat[[0, 24]] = False
        self.place = (0, 0)
        self.visited = {self.place}
        self.keys = set(range(3))
        return self._grid(), {"seen": 1}

    def _grid(self):
        grid = self.walls.astype(np.int8)
        for r in range(5):
            for c in range(5):
                if (r, c) in self.visited:
                    grid[r, c] = 2
        return grid

    def step(self, action):
        r, c = self.place[0] + self.MOVES[action][0], self.place[1] + self.MOVES[action][1]
        reward = 0.0
        if 0 <= r < 5 and 0 <= c < 5 and not self.walls[r, c]:
            self.place = (r, c)
            reward += self.place not in self.visited
            self.visited.add(self.place)
            self.keys.discard(r)
            if c in self.keys:
                self.keys.remove(c)
            elif not self.keys:
                self.keys |= {c, r, c}
            if self.place == (4, 4):
                self.visited.clear()
        done = len(self.keys) > 1 and 3 not in self.keys and self.place == (4, 4)
        return self._grid(), reward, done, False, {"seen": len(self.visited)}


class Piles(gym.Env):
    """A list of lists that grow."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = spaces.Box(-np.inf, np.inf, (7,), np.float64)
    action_space = spaces.MultiDiscrete([3, 3])

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.piles = [list(range(4, 0, -1)), [], []]
        self.marks = [[(k, 1)] for k in range(2)]
        return self._observation(), {"largest": 4}

    def _observation(self):
        tops = [0] * 3
        for k, pile in enumerate(self.piles):
            if pile:
                tops[k] = pile[-1]
        total = sum(len(marks) for marks in self.marks)
        return np.array([*tops, *[len(pile) for pile in self.piles], total], np.float64)

    def step(self, action):
        source, target = action
        marks = self.marks[target % 2]
        marks.append((int(source), len(self.piles)))
        if len(marks) > 3:
            self.marks[-1] = [(0, 0)]
        if not self.piles[source]:
            return self._observation(), -1.0, False, False, {"largest": 0}
        item = self.piles[source].pop()
        self.piles[target].append(item)
        if self.np_random.random() < 0.1:
            self.piles[1] += [7, 8]
            self.piles[0], self.marks[0] = [], []
        largest = max(len(pile) for pile in self.piles)
        reward = float(sum(x * y for pairs in self.marks for x, y in pairs))
        return self._observation(), reward, largest > 9, False, {"largest": largest}

    def render(self):
        frame = np.zeros((3, 16, 3), np.uint8)
        for row, pile in enumerate(self.piles):
            frame[row, : len(pile), 0] = pile
            frame[row, :, 1] = (0, 0) in self.marks[row % 2]
        return frame


class Ordered(Explorer):
    """A set whose order matters."""

    def step(self, action):
        for key in self.keys:
            if key != action:
                return self._grid(), float(key), False, False, {"seen": 0}
        return self._grid(), 0.0, True, False, {"seen": self.keys.pop()}


@pytest.fixture
def interpreted(monkeypatch):
    """Compile nothing."""
    monkeypatch.setenv("GYMCORE_JIT", "0")


@pytest.mark.slow
@pytest.mark.parametrize("cls", [Worm, Queue, History, Explorer, Piles])
def test_lists_that_grow(cls, interpreted):
    assert issubclass(jit.convert(cls, seeds=3, steps=100), jit.Env)


@pytest.mark.soak
@pytest.mark.skipif(find_spec("numba") is None, reason="needs numba")
@pytest.mark.parametrize(
    "cls", [Worm, Queue, History, Explorer, "gymnasium.envs.toy_text.blackjack:BlackjackEnv"]
)
def test_compiled_lists(cls):
    assert issubclass(jit.convert(cls), jit.Env)


def test_what_only_rendering_reads_is_left_out():
    text = converted_text(Worm)
    assert "body: jit.array(int, " in text and "drawn" not in text


def test_the_order_of_a_set_is_an_obstacle():
    with pytest.raises(error.ConversionError, match="order of the items of a set") as raised:
        jit.convert(Ordered)
    assert [obstacle.expression for obstacle in raised.value.obstacles] == ["self.keys"]


@pytest.mark.parametrize("cls", [Worm, History, Piles])
def test_rendering_reads_the_items_that_a_list_has(cls, interpreted):
    env, original = jit.convert(cls, seeds=1, steps=30)(render_mode="rgb_array"), cls()
    for each in (env, original):
        each.reset(seed=1)
        each.step(each.action_space.sample() * 0)
    np.testing.assert_array_equal(env.render(), original.render())


def test_a_list_that_outgrows_its_room_raises(interpreted):
    env = jit.convert(Hoard, seeds=1, steps=30)()
    env.reset(seed=1)
    with pytest.raises(IndexError, match="more items than the conversion has room for"):
        for _ in range(1000):
            env.step(3)


class Log(Queue):
    """A list that gains an item in each step."""

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed)
        self.log = []
        return observation, info

    def step(self, action):
        self.log.append(action)
        return self._observation(), float(sum(self.log)), False, False, {}


def test_a_list_that_grows_in_each_step_is_an_obstacle():
    with pytest.raises(error.ConversionError, match=r"`self\.log` gains items in each step; give"):
        jit.convert(Log)


class ShortLog(Log):
    """A list that gains an item in each step, in episodes of up to five steps."""

    def step(self, action):
        observation, reward, *_ = super().step(action)
        return observation, reward, len(self.log) > action % 5, False, {}


class Burst(Queue):
    """A list that has many more items while a step runs than between steps."""

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed)
        self.burst = [1, 2]
        return observation, info

    def step(self, action):
        for k in range(60):
            self.burst.append(k * action)
        total = sum(self.burst)
        self.burst = self.burst[-1 - action :]
        return self._observation(), float(total), False, False, {}


class EvenBurst(Burst):
    """A list that has as many items after each step."""

    def step(self, action):
        for k in range(60):
            self.burst.append(k * action)
        total = sum(self.burst)
        while len(self.burst) > 2:
            self.burst.pop()
        return self._observation(), float(total), False, False, {}


@pytest.mark.slow
@pytest.mark.parametrize("cls", [ShortLog, Burst, EvenBurst])
def test_lists_that_are_short_between_steps(cls, interpreted):
    assert issubclass(jit.convert(cls, seeds=3, steps=100), jit.Env)


RARE = """
from collections import deque

import numpy as np

import gymcore as gym
from gymcore import spaces


class Ball:
    def __init__(self, x):
        self.x = x


class Case(gym.Env):
    observation_space = spaces.Box(-np.inf, np.inf, (8,), np.float64)
    action_space = spaces.Discrete(10**6)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.q = [(1, 2), (3, 4), (5, 6)]
        self.d = deque([1, 2, 3], maxlen=4)
        self.piles = [[1], [2, 3], []]
        self.ball, self.other = Ball(1.0), Ball(2.0)
        self.balls = [Ball(float(k)) for k in range(3)]
        self.g = np.arange(6).reshape(3, 2)
        self.maps = {{"n": np.zeros(2), "s": np.ones(2)}}
        self.v = 0
        return self._observation(), {{}}

    def _observation(self):
        q = sum((k + 1) * (3 * x + y) for k, (x, y) in enumerate(self.q))
        d = sum((k + 1) * x for k, x in enumerate(self.d))
        p = sum(x * (k + 1) for k, pile in enumerate(self.piles) for x in pile)
        balls = [ball.x * (k + 1) for k, ball in enumerate(self.balls)]
        rest = [self.ball.x + 10 * self.other.x, self.v, self.g[0, 0]]
        return np.array([q, d, p, *balls[:2], *rest], dtype=np.float64)

    def _first(self):
        return self.q[0]

    def step(self, action):
        if action == 0:
{statements}
        else:
            if len(self.q) < 5:
                self.q.append((action % 7, 1))
            else:
                self.q.pop(0)
            self.d.append(action % 5)
            if len(self.piles[action % 3]) < 4:
                self.piles[action % 3].append(action % 7)
            else:
                self.piles[action % 3].clear()
            self.ball.x += 0.5
            self.other.x -= 0.5
            self.balls[0].x += 1.0
            self.v += 1
            self.g[0, 0] += 1
            self.maps["n"][0] += 1.0
            self.maps["s"] = self.maps["s"] * 2.0 % 7.0
        return self._observation(), 0.0, False, False, {{}}
"""
# What a branch does that random actions never reach: it is right in converted code, or refused.
RARE_STATEMENTS = {
    "row_then_pop": "h = self.q[0]; self.q.pop(0); self.q.append(h)",
    "insert_last": "self.q.insert(0, self.q[-1]); self.q.pop()",
    "two_rows": "h, t = self.q[0], self.q[-1]; self.q.pop(0); self.q.append(h); self.v = t[0]",
    "swap_rows": "self.q[0], self.q[1] = self.q[1], self.q[0]",
    "returned_row": "h = self._first(); self.q.pop(0); self.q.append(h)",
    "reverse": "self.q = self.q[::-1]",
    "reversed": "self.d = deque(reversed(self.d), maxlen=4)",
    "other_maxlen": "self.d = deque(self.d, maxlen=2)",
    "copy_of_deque": "c = self.d.copy(); c.append(9); c.append(8); self.v = len(c)",
    "rotate": "self.q = self.q[1:] + self.q[:1]",
    "sort": "self.q.sort()",
    "sorted": "self.q = sorted(self.q)",
    "either": "self.q = [p for p in self.q if p[0] > 9] or [(0, 0)]",
    "change_in_a_loop": "for p in self.q:\n    if len(self.q) < 9: self.q.append(p)",
    "swap_lists": "self.piles[0], self.piles[1] = self.piles[1], self.piles[0]",
    "share_lists": "self.piles[0] = self.piles[1]; self.piles[1].append(3)",
    "replaced_list": "p = self.piles[0]; self.piles[0] = [7]; p.append(1); self.v = len(p)",
    "negative_index": "k = -1 - action; self.piles[k].append(2)",
    "swap_objects": "self.ball, self.other = self.other, self.ball",
    "share_objects": "self.ball = self.other; self.ball.x += 1.0",
    "replaced_object": "b = self.ball; self.ball = Ball(7.0); self.other.x = b.x",
    "reverse_objects": "self.balls = self.balls[::-1]",
    "turn_objects": "self.balls = [self.balls[1], self.balls[2], self.balls[0]]",
    "replaced_array": "u = self.g[0]; self.g = self.g + 1; self.v = int(u.sum())",
    "replaced_in_a_dict": (
        "w = self.maps['n']; self.maps['n'] = np.ones(2); w[0] = 9.0; "
        "self.v = int(self.maps['n'][0])"
    ),
    "changed_constant": "t = [0] * 3; t[action] += 1; u = t; u[1] += 5; self.v = t[1] + t[0]",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RARE_STATEMENTS)
def test_code_that_never_ran_is_right_or_refused(name, tmp_path, monkeypatch, interpreted):
    is_right(f"rare_{name}", RARE, RARE_STATEMENTS[name], tmp_path, monkeypatch)
