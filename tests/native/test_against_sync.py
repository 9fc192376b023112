"""Random programs on the compiled engine and on SyncVectorEnv: the same bytes at every call."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from gymcore import error
from tests.vector.contract import (
    BOUNDS,
    DISABLED,
    ENDING_STATES,
    IDS,
    MODES,
    PARAMETERS,
    SAME_STEP,
    draw_actions,
    make_envs,
    same_bytes,
)

pytestmark = pytest.mark.slow

seeds = st.integers(0, 2**70)


class TwoEngines(RuleBasedStateMachine):
    """Every call is made in both engines."""

    @initialize(
        env_id=st.sampled_from(IDS),
        mode=st.sampled_from(MODES),
        num_envs=st.integers(1, 6),
        limit=st.integers(1, 7),
        num_threads=st.integers(1, 3),
        seed=seeds,
    )
    def make(self, env_id, mode, num_envs, limit, num_threads, seed):
        self.mode, self.num_envs = mode, num_envs
        options = {"num_threads": num_threads, "episode_statistics": True}
        self.native, self.sync = (
            make_envs(
                env_id, backend, mode, num_envs, max_episode_steps=limit, vector_kwargs=options
            )
            for backend in ("native", "sync")
        )
        self.calls = 0
        self.ended = np.zeros(num_envs, bool)
        self.reset(seed)

    def compare(self, ours, theirs):
        """Compare results; the form of `final_obs`, and durations, may differ."""
        for result in (ours, theirs):
            infos = result[-1]
            if "episode" in infos:
                seconds = infos["episode"].pop("t")
                assert not seconds[~infos["_episode"]].any()
            if "final_obs" in infos:
                lanes = np.flatnonzero(infos["_final_obs"])
                infos["final_obs"] = np.array([infos["final_obs"][i] for i in lanes])
        assert same_bytes(ours, theirs)

    @rule(seed=st.none() | seeds)
    def reset(self, seed):
        self.compare(self.native.reset(seed=seed), self.sync.reset(seed=seed))
        self.ended[:] = False

    @rule(data=st.data(), seeded=st.booleans(), bounded=st.booleans())
    def reset_some(self, data, seeded, bounded):
        lanes = st.lists(st.booleans(), min_size=self.num_envs, max_size=self.num_envs)
        mask = np.array(data.draw(lanes.filter(any)))
        each = st.lists(st.none() | seeds, min_size=self.num_envs, max_size=self.num_envs)
        seed = data.draw(each | seeds) if seeded else None
        options = {"reset_mask": mask}
        if bounded:
            options.update(BOUNDS[self.native.spec.id])
        results = [envs.reset(seed=seed, options=options) for envs in (self.native, self.sync)]
        self.compare(*results)
        self.ended &= ~mask

    def actions(self, *shape):
        self.calls += 1
        return draw_actions(self.native, *shape, seed=self.calls)

    @rule()
    def step(self):
        actions = self.actions()
        if self.mode is DISABLED and self.ended.any():
            for envs in (self.native, self.sync):
                with pytest.raises(error.ResetNeeded):
                    envs.step(actions)
            return
        ours, theirs = self.native.step(actions), self.sync.step(actions)
        self.ended = ours[2] | ours[3]
        self.compare(ours, theirs)

    @precondition(lambda self: self.mode is not DISABLED)
    @rule(steps=st.integers(1, 6))
    def roll(self, steps):
        actions = self.actions(steps)
        rolled = self.native.rollout(actions, final_observations=self.mode is SAME_STEP)
        for t in range(steps):
            step = self.sync.step(actions[t])
            assert same_bytes([array[t] for array in rolled[:4]], list(step[:4]))
            for i in np.flatnonzero(step[4].get("_final_obs", [])):
                assert same_bytes(rolled.final_observations[t, i], step[4]["final_obs"][i])

    @precondition(lambda self: not (self.mode is DISABLED and self.ended.any()))
    @rule(lane=st.integers(0, 5))
    def put_at_an_end(self, lane):
        state = ENDING_STATES[self.native.spec.id]
        if state is not None:
            states = [np.array(one) for one in self.native.get_attr("state")]
            states[lane % self.num_envs] = np.array(state)
            self.native.set_attr("state", states), self.sync.set_attr("state", states)
            # At once: after a masked reset, one engine would return the state that was set, the
            # other the last observation before that.
            self.step()

    @rule(factors=st.lists(st.floats(0.5, 2.0), min_size=6, max_size=6))
    def change_parameters(self, factors):
        name, value = PARAMETERS[self.native.spec.id]
        values = [value * factor for factor in factors[: self.num_envs]]
        self.native.set_attr(name, values), self.sync.set_attr(name, values)
        assert self.native.get_attr(name) == self.sync.get_attr(name) == tuple(values)

    @rule()
    def look(self):
        assert same_bytes(self.native.get_attr("state"), self.sync.get_attr("state"))
        assert self.native.np_random_seed == self.sync.np_random_seed
        draws = [[g.random() for g in envs.np_random] for envs in (self.native, self.sync)]
        assert draws[0] == draws[1]

    @rule(how=st.sampled_from(["copy", "pickle", "state"]))
    def go_on_with_a_copy(self, how):
        known = self.native.np_random_seed
        if how == "state":
            self.native.set_state(self.native.get_state())
            assert self.native.np_random_seed == (-1,) * self.num_envs
            self.native._seeds.seeds = list(known)
        elif how == "copy":
            self.native = copy.deepcopy(self.native)
        else:
            self.native = pickle.loads(pickle.dumps(self.native))
        assert self.native.np_random_seed == known

    @rule(kind=st.sampled_from(["actions", "seed", "mask"]))
    def make_a_mistake(self, kind):
        bad = {
            "actions": lambda envs: envs.step(self.actions(2).reshape(-1)[: self.num_envs + 1]),
            "seed": lambda envs: envs.reset(seed=-1),
            "mask": lambda envs: envs.reset(options={"reset_mask": np.zeros(self.num_envs, bool)}),
        }
        for envs in (self.native, self.sync):
            with pytest.raises(error.Error):
                bad[kind](envs)

    def teardown(self):
        if hasattr(self, "native"):
            self.native.close()
            self.sync.close()


TestTwoEngines = TwoEngines.TestCase
TestTwoEngines.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
