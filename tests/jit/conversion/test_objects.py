"""Lists of objects and of named tuples, and dicts of numbers that are indexed by variables."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from enum import Enum
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import pytest

import gymcore as gym
from gymcore import error, jit, spaces
from tests.jit.conversion.rare_statements import is_right


class Enemy:
    SPEED = 0.3

    def __init__(self, x, y, health=3):
        self.health = health
        self.place = np.array([x, y])
        self.target = None

    @property
    def alive(self):
        return self.health > 0

    def move(self, dx, dy):
        self.place[0] += dx * self.SPEED
        self.place += np.array([0.0, dy * self.SPEED])

    def hit(self, damage=1):
        self.health -= damage
        return not self.alive


@dataclass
class Bullet:
    x: float
    y: float
    vx: float
    vy: float
    age: int = 0

    def step(self):
        self.x += self.vx
        self.y += self.vy
        self.age += 1

    def is_out(self, size):
        return abs(self.x) > size or abs(self.y) > size


class Shooter(gym.Env):
    """Objects that are hit, and a list that is filtered."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = spaces.Box(-np.inf, np.inf, (21,), np.float64)
    action_space = spaces.Discrete(5)

    def __init__(self, size=5.0, render_mode=None):
        self.size, self.render_mode = size, render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.enemies = []
        for _ in range(4):
            x, y = self.np_random.uniform(-4, 4, size=2)
            self.enemies.append(Enemy(x, y))
        self.bullets = []
        self.time = 0
        return self._observation(), {"bullets": 0}

    def _observation(self):
        observation = np.zeros(21)
        for k, enemy in enumerate(self.enemies):
            observation[4 * k : 4 * k + 2] = enemy.place
            observation[4 * k + 2] = enemy.health
            observation[4 * k + 3] = -1 if enemy.target is None else enemy.target
        observation[16] = len(self.bullets)
        observation[17] = sum(bullet.x for bullet in self.bullets)
        observation[18] = sum(b.age for b in self.bullets if b.x > 0)
        if self.bullets:
            observation[19] = self.bullets[-1].x
            observation[20] = self.bullets[0].y
        return observation

    def step(self, action):
        reward = 0.0
        if action < 4:
            angle = action * math.pi / 2
            self.bullets.append(Bullet(0.0, 0.0, math.cos(angle), math.sin(angle)))
        for bullet in self.bullets:
            bullet.step()
        for enemy in self.enemies:
            enemy.move(self.np_random.normal(), self.np_random.normal())
            enemy.target = int(self.np_random.integers(4)) if enemy.target is None else None
        for bullet in self.bullets:
            for enemy in self.enemies:
                if not enemy.alive:
                    continue
                x, y = enemy.place
                if (bullet.x - x) ** 2 + (bullet.y - y) ** 2 < 1.0:
                    if enemy.hit():
                        reward += 5.0
                    bullet.age += 100
                    break
        self.bullets = [b for b in self.bullets if b.age < 100 and not b.is_out(self.size)]
        self.enemies = [enemy for enemy in self.enemies if enemy.alive]
        if not self.enemies:
            reward += 10
        self.time += 1
        ended = len(self.enemies) == 0
        return self._observation(), reward, ended, self.time >= 60, {"bullets": len(self.bullets)}

    def render(self):
        frame = np.zeros((32, 4, 3), np.uint8)
        for k, enemy in enumerate(self.enemies):
            target = 0 if enemy.target is None else 1 + enemy.target
            frame[k, 0] = enemy.health * 10 + enemy.alive, target, 1
            frame[k, 1, :2] = np.abs(enemy.place * 20).astype(np.uint8)
        for k, bullet in enumerate(self.bullets):
            frame[8 + k, 2] = bullet.age, abs(int(bullet.x * 9)), bullet.is_out(5)
        return frame


class Suit(Enum):
    CUPS = "c"
    SWORDS = "s"


class Card(NamedTuple):
    rank: int
    suit: Suit


class Cards(gym.Env):
    """Named tuples in a shuffled deck, a hand and a deque."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = spaces.Box(-100, 200, (8,), np.int64)
    action_space = spaces.Discrete(4)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        deck = [Card(rank, suit) for suit in Suit for rank in range(1, 11)]
        self.np_random.shuffle(deck)
        self.deck = deck
        self.hand = [self.deck.pop(), self.deck.pop()]
        self.discarded = deque()
        self.current = self._draw()
        return self._observation(), {}

    def _draw(self):
        card = self.deck.pop(0)
        return card

    def _observation(self):
        top = self.discarded[-1].rank if self.discarded else 0
        best = max(card.rank for card in self.hand)
        cups = sum(1 for card in self.hand if card.suit == Suit.CUPS)
        lengths = len(self.deck), len(self.hand), len(self.discarded)
        return np.array([*lengths, top, best, cups, self.current.rank, self.hand[0].rank])

    def step(self, action):
        reward, before = 0.0, len(self.deck)
        previous, self.current = self.current, self._draw()
        if action == 0:
            self.hand.append(self.deck.pop())
        elif action == 1:
            card = self.hand.pop(0)
            if card.suit is Suit.SWORDS:
                reward += card.rank
            self.discarded.append(card)
            if not self.hand:
                self.hand.append(previous)
        elif action == 2:
            self.hand.insert(1, previous)
        elif self.discarded:
            self.hand[-1] = self.discarded.popleft()
            del self.deck[before // 2]
        total = sum(card.rank for card in self.hand)
        ended = total > 30 or len(self.deck) < 4
        return self._observation(), reward - 0.01 * total, ended, False, {}

    def render(self):
        frame = np.zeros((32, 4, 3), np.uint8)
        for column, cards in enumerate((self.deck, self.hand, self.discarded)):
            for row, card in enumerate(cards):
                frame[row, column] = card.rank, 1 + (card.suit is Suit.CUPS), 1
        return frame


class Car:
    def __init__(self, lane, place, speed):
        self.lane = lane
        self.place = place
        self.speed = speed


class Traffic(gym.Env):
    """More objects than loops are written for round by round; names for two of them."""

    observation_space = spaces.Box(-np.inf, np.inf, (20, 3), np.float64)
    action_space = spaces.Discrete(4)
    LENGTH = 100.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cars = [
            Car(int(self.np_random.integers(3)), 5.0 * k, self.np_random.uniform(0.5, 1.5))
            for k in range(20)
        ]
        self.time = 0
        return self._observation(), {}

    def _observation(self):
        rows = np.zeros((20, 3))
        for k, car in enumerate(self.cars):
            rows[k] = car.lane, car.place, car.speed
        return rows

    def _gap(self, k):
        car, gap = self.cars[k], self.LENGTH
        for other in self.cars[::-1]:
            if other is car or other.lane != car.lane:
                continue
            gap = min(gap, (other.place - car.place) % self.LENGTH)
        return gap

    def step(self, action):
        own = self.cars[0]
        if action == 1:
            own.lane = max(own.lane - 1, 0)
        elif action == 2:
            own.lane = min(own.lane + 1, 2)
        for k in range(1, len(self.cars)):
            car = self.cars[k]
            car.speed = min(car.speed + 0.05, self._gap(k) / 2, 1.5)
        for car in self.cars:
            car.place = (car.place + car.speed) % self.LENGTH
        crashes = 0
        for a in range(20):
            for b in range(a + 1, 20):
                first, second = self.cars[a], self.cars[b]
                if first.lane == second.lane and abs(first.place - second.place) < 0.5:
                    crashes += 1
                    first.speed = second.speed = 0.0
        self.time += 1
        slowest = min(car.speed for car in self.cars)
        return self._observation(), own.speed - slowest, crashes > 4, self.time >= 40, {}


class Walker:
    def __init__(self, k):
        self.place = np.array([k, 0])
        self.steps = k
        self.name = f"walker {k}"


class Depot(gym.Env):
    """Objects of the constructor, stock by name and by number, and a generator of neighbours."""

    observation_space = spaces.Box(-np.inf, np.inf, (15,), np.float64)
    action_space = spaces.MultiDiscrete([4, 4, 4])
    NAMES = ("ore", "tin", "zinc")

    def __init__(self):
        self.walkers = [Walker(k) for k in range(3)]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        for k, walker in enumerate(self.walkers):
            walker.place = self.np_random.integers(0, 5, 2)
            walker.steps = k
        self.stock = dict.fromkeys(self.NAMES, 2)
        self.prices = {10: 1.0, 20: 0.5, 35: 0.25}
        self.levels = {name: 0.5 * k for k, name in enumerate(self.NAMES)}
        return self._observation(), {}

    def _neighbors(self, row, column):
        """Yield the cells beside a cell."""
        for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            if not (0 <= row + down < 5 and 0 <= column + right < 5):
                continue
            yield row + down, column + right

    def _observation(self):
        parts = [np.array(list(self.stock.values()), dtype=np.float64)]
        for walker in self.walkers:
            parts.append(walker.place - 2)
            parts.append(np.array([walker.steps]))
        parts.append(np.array([self.prices[20], self.levels["tin"], len(self.stock)]))
        return np.concatenate(parts)

    def step(self, action):
        reward = 0.0
        for walker, move in zip(self.walkers, action, strict=True):
            cells = list(self._neighbors(walker.place[0], walker.place[1]))
            if move < len(cells):
                walker.place[:] = cells[move]
                walker.steps += 1
        name = self.NAMES[action[0] % 3]
        if (left := self.stock[name]) > 0 and (draw := self.np_random.random()) < 0.5:
            self.stock[name] -= 1
            reward += draw * left
        if not (level := self.levels[name]) >= 2.0:
            self.levels[name] = level + 0.25
        price = 10 if action[1] > 1 else 35
        self.prices[price] *= 0.9
        row = 4.0
        for down, right in self._neighbors(action[1], action[2]):
            reward += 0.1 * row * down - 0.05 * right
        busiest = max(walker.steps for walker in self.walkers)
        ended = sum(self.stock.values()) == 0
        return self._observation(), reward + self.prices[price], ended, busiest > 40, {}


class Orders(gym.Env):
    """Tuples of numbers of two types in a list."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float64)
    action_space = spaces.Discrete(4)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.orders, self.time, self.sold = [(2, 0.5)], 0, 0.0
        return self._observation(), {}

    def _observation(self):
        total = sum(count * price for count, price in self.orders)
        last = self.orders[-1][1] if self.orders else 0.0
        return np.array([len(self.orders), total, last, self.sold])

    def step(self, action):
        self.time += 1
        if action == 3:
            self.orders.insert(0, (3, 1.5))
            self.orders = [order for order in self.orders if order[1] > 0.25]
        elif action:
            self.orders.append((int(action), self.np_random.random()))
        if len(self.orders) > 4:
            count, price = self.orders.pop(0)
            dearest = max(self.orders, key=lambda order: order[1])
            self.orders.remove(dearest)
            self.sold += count * price + dearest[1]
        if (1, 0.5) in self.orders:
            self.sold = -1.0
        self.orders.sort(key=lambda order: (order[0], -order[1]))
        return self._observation(), self.sold, False, self.time >= 50, {}

    def render(self):
        frame = np.zeros((2, 8, 3), np.uint8)
        for k, (count, price) in enumerate(self.orders):
            frame[:, k] = count, int(price * 100), 1
        return frame


CLASSES = (Shooter, Cards, Traffic, Depot, Orders)


@pytest.fixture
def interpreted(monkeypatch):
    """Compile nothing."""
    monkeypatch.setenv("GYMCORE_JIT", "0")


@pytest.mark.parametrize("cls", CLASSES)
def test_lists_of_objects(cls, interpreted):
    assert issubclass(jit.convert(cls, seeds=3, steps=150), jit.Env)


@pytest.mark.soak
@pytest.mark.skipif(find_spec("numba") is None, reason="needs numba")
@pytest.mark.parametrize("cls", CLASSES)
def test_compiled_lists_of_objects(cls):
    assert issubclass(jit.convert(cls), jit.Env)


@pytest.mark.parametrize("cls", [Shooter, Cards, Orders])
def test_rendering_has_the_objects(cls, interpreted):
    converted = jit.convert(cls, seeds=1, steps=60)(render_mode="rgb_array")
    original = cls(render_mode="rgb_array")
    original.action_space.seed(1)
    for each in (original, converted):
        each.reset(seed=3)
    for step in range(80):
        np.testing.assert_array_equal(original.render(), converted.render())
        action = original.action_space.sample()
        *_, terminated, truncated, _ = original.step(action)
        converted.step(action)
        if terminated or truncated:
            for each in (original, converted):
                each.reset(seed=step)


RARE = """\
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import gymcore as gym
from gymcore import spaces


class Task:
    speed = 2

    def __init__(self, size, due=4):
        self.size = size
        self.due = due
        self.place = np.zeros(2)
        self.tag = None

    def mark(self, value):
        self.tag = value
        self.size += value

    @property
    def level(self):
        return self.due

    @level.setter
    def level(self, value):
        self.due = value


@dataclass
class Job:
    load: float
    rank: int = 0

    def work(self, amount):
        self.load -= amount
        return self.load


class Point(NamedTuple):
    x: int
    y: float


class Case(gym.Env):
    observation_space = spaces.Box(-np.inf, np.inf, (40,), np.float64)
    action_space = spaces.Discrete(10**6)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.tasks = [Task(1.5), Task(2.5, 3)]
        self.done = [Task(0.5)]
        self.jobs = [Job(1.0), Job(2.0, 1), Job(0.5, 2)]
        self.points = [Point(1, 0.5), Point(2, 1.5)]
        self.stock = {{"a": 3, "b": 5}}
        self.names = ("a", "b")
        self.word = "a"
        self.v = np.zeros(2)
        self.r, self.z = 0.0, 0
        return self._observation(), {{}}

    def _observation(self):
        row = np.zeros(40)
        row[0], row[1], row[2] = self.r, self.z, self.v[0]
        row[3], row[4] = self.stock["a"], self.stock["b"]
        row[5], row[6] = len(self.tasks), len(self.done)
        row[7], row[8] = len(self.jobs), len(self.points)
        for k, task in enumerate(self.tasks[:4]):
            tag = -1.0 if task.tag is None else task.tag
            row[10 + 3 * k] = task.size + 100 * task.due + 10000 * tag
            row[11 + 3 * k : 13 + 3 * k] = task.place
        for other in self.done:
            row[9] = 3 * row[9] + other.size + 100 * other.due
        for k, job in enumerate(self.jobs[:6]):
            row[24 + k] = job.load + 100 * job.rank
        for k, point in enumerate(self.points[:6]):
            row[30 + k] = point.x + 100 * point.y
        return row

    def _drop(self):
        load = self.jobs[0].load
        self.jobs.pop(0)
        return load

    def _draw(self):
        return self.np_random.random()

    def _two(self, a, b):
        self.r = a

    def _replaced(self, place):
        self.v = np.ones(2)
        self.r = place[0]

    def _loads(self):
        for job in self.jobs:
            yield job.load

    def _raised(self):
        for job in self.jobs:
            job.load += 0.5
            yield job.load

    @property
    def next_load(self):
        return self._drop()

    def step(self, action):
        u = self.np_random.random()
        name = self.names[self.np_random.integers(2)]
        if action == 0:
{statements}
        else:
            if len(self.tasks) < 4:
                self.tasks.append(Task(u, action % 7))
            else:
                self.tasks.pop(0)
            self.tasks[-1].mark(0.25)
            self.tasks[0].place[0] += 1.0
            if len(self.done) < 3:
                self.done.append(Task(u))
            self.done[0].due += 1
            if len(self.jobs) < 5:
                self.jobs.append(Job(u, action % 3))
            self.jobs[1].work(0.125)
            if len(self.points) < 5:
                self.points.append(Point(action % 5, u))
            else:
                self.points.clear()
            self.stock[name] += 1
            self.v[0] += 1.0
            self.z += len(self.jobs) if self.word == "b" else 1
            self.word = name
        return self._observation(), 0.0, False, False, {{}}
"""
# What a branch does that random actions never reach: it is right in converted code, or refused.
RARE_STATEMENTS = {
    "and_pop": "self.jobs and self.jobs.pop(0)",
    "unused_value": "self.unused = self._drop()",
    "unused_argument": "self._two(self._draw(), self._draw())",
    "keyword_order": "self._two(b=self._draw(), a=self._draw())",
    "receiver": "self.jobs[0].work(self._drop())",
    "receiver_in_a_name": "job = self.jobs[0]; job.work(self._drop())",
    "changed_target": "self.jobs[0].load += self._drop()",
    "argument_and_pop": "self.jobs.append(Job(self._drop(), len(self.jobs)))",
    "insert": "self.jobs.insert(int(2 * self._draw()), Job(self._draw()))",
    "extend": "self.jobs.extend([Job(1.0, len(self.jobs)), Job(2.0, len(self.jobs))])",
    "assign": "self.jobs = [Job(self._drop() + 1.0), Job(self._drop() + 2.0)]",
    "copy_of_a_list": "self.done = list(self.tasks)",
    "property": "job = self.jobs[0]; self.r = self.next_load; job.load = 7.0",
    "append_in_a_loop": "for j in self.jobs:\n    if len(self.jobs) < 7: self.jobs.append(Job(9))",
    "assign_in_a_loop": "for p in self.points: self.points[0] = Point(p.x + 1, p.y); self.r += p.x",
    "loop_over_a_copy": "for j in self.jobs[:]:\n    if j.load > 0.5: self.jobs.remove(j)",
    "use_after_pop": "for j in self.jobs:\n    self.jobs.pop(0)\n    self.r = j.load\n    break",
    "after_the_loop": "for j in self.jobs:\n    if j.load > 9: break\nself.r = j.load",
    "filter_of_itself": "self.jobs = [j for j in self.jobs if j.load > self.jobs[0].load]",
    "filter": "self.jobs = [j for j in self.jobs if j.load > 0.75 and j.rank < 2]",
    "carried": "for k in range(2):\n    if k > 0: last.load += 3.0\n    last = self.jobs[k]",
    "other_value": "j = self.jobs[0]\nif self.z > 3: j = self.jobs[1]\nj.load = 9.0",
    "swap": "self.tasks[0], self.tasks[1] = self.tasks[1], self.tasks[0]",
    "swap_arrays": "t, s = self.tasks[0], self.tasks[1]; t.place, s.place = s.place, t.place",
    "shared_array": "self.tasks[0].place = self.v; self.v[0] = 9.0",
    "replaced_array": "p = self.tasks[0].place; self.tasks[0].place = p + 1.0; self.r = p[0]",
    "array_and_pop": "p = self.tasks[0].place; self.tasks.pop(0); self.r = p[0]",
    "float_for_an_integer": "self.jobs[0].rank = 0.5",
    "half": "self.stock[name] *= 0.5",
    "optional": "tag = self.done[0].tag\nif tag is not None: self.r = 5.0",
    "setter": "self.tasks[0].level = 3",
    "class_attribute": "self.tasks[0].speed = 7",
    "tuple_for_an_object": "self.jobs.append((1.0, 2))",
    "too_many": "self.points.append(Point(1, 2.0, 3))",
    "field_of_a_tuple": "self.points[0].x = 9",
    "identity": "self.r = 1.0 if self.tasks[-1] == self.tasks[0] else 2.0",
    "sum": "self.r = len(self.jobs) or 5",
    "lazy": "if any(x > 0.1 for x in self._raised()): self.r = 1.0",
    "generator": "for x in self._loads(): self.jobs[-1].load += x",
    "all_of_a_list": "if all([j.work(0.25) > 9 for j in self.jobs]): self.r = 1.0",
    "dict_in_a_loop": "for n, c in self.stock.items(): self.stock[n] = 0; self.r += c",
    "names": "jobs_index, row = 2, 3; self.jobs = [j for j in self.jobs if j.load > 0]; "
    "self.r = jobs_index + row",
    "pop_of_nothing": "self.points.clear(); self.points.pop()",
    "unused_name": "task = self.tasks[7]",
    "index_of_a_test": "self.jobs[u > 0.5].load = 3.0",
    "walrus": "(n := len(self.jobs)); self.r = n",
    "two_lists": "self.done.append(self.tasks[0]); self.done[-1].size += 1.0",
    "in_a_name": "last = self.tasks.pop(); last.due = 9; self.tasks.append(last)",
    "several_names": "best = None\nfor j in self.jobs:\n"
    "    if best is None or j.load < best.load: best = j\nbest.rank = 7",
    "temporary_list": "big = [j for j in self.jobs if j.load > 0.6]\nfor j in big: j.load += 1.0",
    "appended": "big = []\nfor j in self.jobs:\n    if j.rank < 2: big.append(j)\n"
    "if big: big[0].load = 5.0; self.r = len(big)",
    "smallest": "self.r = min(self.jobs, key=lambda j: (j.rank, -j.load)).load",
    "names_in_a_key": "item, place, best, k = 1.5, 2, 3, 4; "
    "self.r = min(self.jobs, key=lambda j: abs(j.load - item) + place + best + k).load",
    "key_that_draws": "self.r = min(self.jobs, key=lambda j: self._draw()).load",
    "largest_or_none": "t = max(self.tasks[:0], key=lambda t: t.size, default=None)\n"
    "self.r = 1.0 if t is None else 2.0",
    "sorted": "self.jobs = sorted(self.jobs, key=lambda j: j.load, reverse=True)",
    "sort": "self.tasks.sort(key=lambda t: -t.size)",
    "remove": "self.jobs.remove(self.jobs[1])",
    "equal_data": "self.r = self.jobs.index(Job(0.5, 2)) if Job(0.5, 2) in self.jobs else 9",
    "equal_tuples": "self.r = self.points.count((1, 0.5)) + self.points.count(Point(2, 1.5))",
    "shuffle": "self.np_random.shuffle(self.jobs)",
    "choice": "self.r = self.tasks[int(self.np_random.integers(len(self.tasks)))].size",
    "pop_in_a_loop": "for t in self.tasks:\n    if t.size > 0.4: self.tasks.pop(0)\n"
    "    self.r += t.size",
    "assigned_in_a_loop": "for j in self.jobs: self.jobs = [Job(j.load + 1.0)]; self.r += j.load",
    "enumeration": "for k, j in enumerate(self.jobs): j.rank = k",
    "two_lists_at_once": "for t, j in zip(self.tasks, self.jobs): t.size, j.load = j.load, t.size",
    "unpacked": "x, y = self.points[0]; self.r = x + y",
    "replaced": "self.points[0] = self.points[0]._replace(x=5)",
    "list_of_arrays": "a = []; a.append(self.v); a.append(np.zeros(3)); a[0][0] = 9.0",
    "two_classes": "x = self.tasks[0]; x.size += 1.0; x = self.jobs[0]; x.load += 1.0",
    "array_of_a_tuple": "self.v = np.array(self.points[0])",
    "stored_list": "xs = [Job(9.0)]; self.jobs = xs; xs.append(Job(1.0))",
    "stored_list_at_last": "xs = [Job(9.0)]; xs.append(Job(1.0)); self.jobs = xs",
    "view": "self.tasks[0].place = self.v[:]; self.v[0] += 1.0",
    "shared_in_a_tuple": "self.tasks[0].place, self.r = self.v, 2.0; self.v[0] += 1.0",
    "same_array": "self.tasks[0].place = np.asarray(self.v); self.v[0] += 1.0",
    "sum_that_drops": "self.r = sum(self._drop() for j in self.jobs)",
    "comprehension_that_drops": "self.r = sum([j.load + self._drop() for j in self.jobs])",
    "extended_in_a_loop": "for j in self.jobs:\n    if len(self.jobs) < 5: self.jobs += [Job(6.0)]",
    "named_in_a_loop": "for j in self.jobs:\n    xs = self.jobs\n    if u > 2: xs.append(j)",
    "argument_replaced": "self._replaced(self.v)",
    "compared_lists": "self.r = float(self.points == [Point(1, 0.5), Point(2, 1.5)])",
    "order_of_texts": "self.word = 'abcd'; self.r = float(self.word < 'b')",
    "longer_text": "self.word += 'x'; self.r = float(self.word == 'ax')",
    "length_of_a_text": "self.r = float(len(self.word))",
    "arrays_in_a_list": "a = [self.v, np.ones(2)]; self.v[0] = 9.0; self.r = a[0][0]",
    "number_for_a_text": "self.word = 97; self.r = float(self.word == 'a')",
    "one_of_two_lists": "xs = self.tasks if u > 0.5 else self.done; xs.pop()",
    "larger_number": "self.jobs[0].rank = max(self.jobs[0].rank, self.jobs[0].load)",
    "named_itself": "j = self.jobs[0]; j = j; j.load += 3.0",
}
# Those that are refused; all others are right.
REFUSED = frozenset(
    (
        *("and_pop", "keyword_order", "walrus", "lazy", "generator", "key_that_draws"),
        *("float_for_an_integer", "half", "tuple_for_an_object", "too_many"),
        *("setter", "class_attribute", "field_of_a_tuple", "swap_arrays", "shared_array"),
        *("list_of_arrays", "two_classes", "array_of_a_tuple", "stored_list", "view"),
        *("shared_in_a_tuple", "same_array", "sum_that_drops", "comprehension_that_drops"),
        *("named_in_a_loop", "extended_in_a_loop", "argument_replaced", "compared_lists"),
        *("order_of_texts", "longer_text", "length_of_a_text", "number_for_a_text"),
        *("arrays_in_a_list", "one_of_two_lists", "larger_number"),
    )
)


@pytest.mark.slow
@pytest.mark.parametrize("name", RARE_STATEMENTS)
def test_code_that_never_ran_is_right_or_refused(name, tmp_path, monkeypatch, interpreted):
    statements = RARE_STATEMENTS[name]
    converts = is_right(f"rare_objects_{name}", RARE, statements, tmp_path, monkeypatch)
    assert converts == (name not in REFUSED)


class Lanes(gym.Env):
    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = spaces.Discrete(3)
    NAMES = ("left", "middle", "right")

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.lanes = {"left": [], "middle": [], "right": []}
        return np.zeros(2), {}

    def step(self, action):
        self.lanes[self.NAMES[action]].append(action + 1)
        observation = np.array([len(self.lanes["left"]), sum(self.lanes["right"])], np.float64)
        return observation, 0.0, len(self.lanes["left"]) > 5, False, {}


def test_lists_in_a_dict_have_no_index_that_varies(interpreted):
    with pytest.raises(error.ConversionError, match="by an index that varies; use an array"):
        jit.convert(Lanes, seeds=1, steps=50)
