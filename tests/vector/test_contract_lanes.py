"""docs/contract.md, sections 14 and 15: steps of some of the lanes, states of lanes."""

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from tests.vector.contract import (
    ARRAY_ID,
    DISABLED,
    NEXT_STEP,
    PYTHON_BACKENDS,
    SAME_STEP,
    arrays_of,
    batched,
    calm_seed,
    draw_actions,
    make_envs,
    rows,
    same_bytes,
    single_envs,
    stagger,
    states_of,
)
from tests.vector.contract_envs import (
    SingleLane,
    counting_env_fns,
    described,
    make_engine,
    space_env_fns,
)

# 14 Some of the lanes


def test_14_1_chosen_lanes_are_stepped(make, backend, mode):
    envs = make(backend, mode, num_envs=4)
    singles = single_envs(envs)
    seed = calm_seed(envs, 3)
    before = envs.reset(seed=seed)[0]
    [env.reset(seed=seed + i) for i, env in enumerate(singles)]
    actions = draw_actions(envs, 5)
    for t, ids in enumerate(([2], [3, 0], [0, 1, 2, 3], [2, 3])):
        step = envs.step(actions[t][ids], env_ids=ids)
        expected = [singles[i].step(actions[t][i]) for i in ids]
        for array, one in zip(arrays_of(step[0]), arrays_of(before), strict=True):
            assert array.dtype == one.dtype
        assert same_bytes(step[0], batched(envs, [one[0] for one in expected]))
        assert same_bytes(step[1], np.array([one[1] for one in expected], np.float64))
        assert step[2].dtype == step[3].dtype == np.bool_
        assert step[2].tolist() == [one[2] for one in expected]
        assert step[3].tolist() == [False] * len(ids)
        assert same_bytes(step[4]["env_id"], np.array(ids))
    step = envs.step(actions[4])
    expected = [env.step(one) for env, one in zip(singles, actions[4], strict=True)]
    assert same_bytes(step[0], batched(envs, [one[0] for one in expected]))
    assert "env_id" not in step[4]


def test_14_2_masks_choose_lanes(make, backend):
    envs, other = make(backend, num_envs=4), make(backend, num_envs=4)
    envs.reset(seed=3), other.reset(seed=3)
    actions = draw_actions(envs)[:2]
    for form in (np.array([False, True, False, True]), np.array([1, 3], np.uint8), (1, 3)):
        assert same_bytes(envs.step(actions, env_ids=form), other.step(actions, env_ids=[1, 3]))


def test_14_3_bad_choices(make, backend):
    envs = make(backend)
    envs.reset(seed=3)
    states = states_of(envs)
    actions = draw_actions(envs)
    for bad, exception in (
        ([0, 3], ValueError),
        ([-1, 0], ValueError),
        ([1, 1], ValueError),
        ([], ValueError),
        (np.zeros(3, bool), ValueError),
        ([0.5, 1.0], TypeError),
        ("ab", TypeError),
        (np.array([[0, 1]]), TypeError),
    ):
        with pytest.raises(exception, match="env_ids") as caught:
            envs.step(actions[:2], env_ids=bad)
        assert isinstance(caught.value, error.Error)
    for count in (0, 1, 3):
        with pytest.raises(error.InvalidAction, match="actions"):
            envs.step(actions[:count], env_ids=[2, 0])
    assert same_bytes(states_of(envs), states)


def check_rows(step, lanes, actions, envs):
    """Compare a partial batch with single lanes that take the same steps."""
    observations, rewards, terminated, truncated, infos = step
    for k, lane in enumerate(infos["env_id"].tolist()):
        expected = lanes[lane].step(actions[k])
        assert described(observations[k]) == described(expected[0])
        assert (rewards[k], terminated[k], truncated[k]) == expected[1:4]
        ended = expected[5] is not None
        assert bool(infos.get("_final_obs", [False] * 9)[k]) is ended
        if ended:
            assert described(infos["final_obs"][k]) == described(expected[5])
        if "_episode_number" in infos and infos["_episode_number"][k]:
            assert infos["episode_number"][k] == expected[4]["episode_number"]
    ended = terminated | truncated
    if envs.autoreset_mode is DISABLED and ended.any():
        mask = np.zeros(envs.num_envs, bool)
        mask[infos["env_id"][ended]] = True
        return mask
    return None


def test_14_4_lanes_end_and_begin_for_themselves(python_backend, mode):
    rng = np.random.default_rng(0)
    env_fns = space_env_fns(lengths=(3, 5, 2, 4))
    with make_engine(python_backend, env_fns, mode) as envs:
        lanes = [SingleLane(fn(), mode) for fn in env_fns]
        envs.reset(seed=8)
        [lane.reset(8 + i) for i, lane in enumerate(lanes)]
        for _ in range(25):
            ids = rng.permutation(4)[: rng.integers(1, 5)]
            actions = rng.integers(-3, 47, len(ids))
            step = envs.step(actions, env_ids=ids)
            assert step[4]["env_id"].tolist() == ids.tolist()
            mask = check_rows(step, lanes, actions, envs)
            if mask is not None:
                envs.reset(options={"reset_mask": mask})
                [lanes[i].reset() for i in np.flatnonzero(mask)]
        assert all(lane.env.episodes > 2 for lane in lanes)


def test_14_5_disabled_lanes_that_ended(make, backend):
    envs = make(backend, DISABLED, max_episode_steps=3)
    stagger(envs)
    for actions in draw_actions(envs, 2):
        envs.step(actions)  # lanes 0 and 2 have ended
    actions = draw_actions(envs)
    for ids in ([0, 1], [2], [1, 2]):
        with pytest.raises(error.ResetNeeded, match=rf"\[{next(i for i in ids if i != 1)}\]"):
            envs.step(actions[ids], env_ids=ids)
    step = envs.step(actions[[1]], env_ids=[1])
    assert step[3].tolist() == [True]


def test_14_6_recv_returns_some_that_are_ready(make, backend, mode):
    envs = make(backend, mode, num_envs=4, vector_kwargs={"batch_size": 2})
    assert envs.batch_size == 2
    singles = single_envs(envs)
    envs.reset(seed=3)
    [env.reset(seed=3 + i) for i, env in enumerate(singles)]
    pending = dict(enumerate(draw_actions(envs)))
    envs.send(np.array(list(pending.values())))
    seen = []
    for actions in draw_actions(envs, 12, seed=1):
        step = envs.recv(timeout=60)
        ids = step[4]["env_id"]
        assert (ids.dtype, ids.shape, len(set(ids.tolist()))) == (np.int64, (2,), 2)
        expected = [singles[i].step(pending.pop(i)) for i in ids.tolist()]
        assert same_bytes(step[0], batched(envs, [one[0] for one in expected]))
        assert step[1].tolist() == [one[1] for one in expected]
        assert step[2].tolist() == [one[2] for one in expected]
        seen += ids.tolist()
        pending.update(zip(ids.tolist(), actions[:2], strict=True))
        envs.send(actions[:2])  # to the lanes that were received
    # All four are outstanding again. A worker that got no processor time has served no batch
    # so far; actions sent to it arrive now, once.
    rest = [int(i) for _ in range(2) for i in envs.recv(timeout=60)[4]["env_id"]]
    assert sorted(rest) == sorted(pending) == [0, 1, 2, 3]
    assert set(seen) <= set(rest)


def test_14_7_partial_batches_in_every_mode(python_backend, mode):
    rng = np.random.default_rng(1)
    env_fns = space_env_fns("dict", "tuple", lengths=(3, 5, 2, 4))
    with make_engine(python_backend, env_fns, mode, batch_size=2) as envs:
        lanes = [SingleLane(fn(), mode) for fn in env_fns]
        space = envs.single_action_space
        space.seed(int(rng.integers(9)))
        envs.reset(seed=8)
        [lane.reset(8 + i) for i, lane in enumerate(lanes)]

        def send(ids):
            chosen = [space.sample() for _ in ids]
            batch = gym.vector.utils.concatenate(
                space, chosen, gym.vector.utils.create_empty_array(space, len(ids))
            )
            envs.send(batch, env_ids=ids)
            sent.update(zip(ids, chosen, strict=True))

        sent = {}
        send([2, 0, 1, 3])
        for _ in range(20):
            step = envs.recv(timeout=60)
            ids = step[4]["env_id"].tolist()
            for k, lane in enumerate(ids):
                expected = lanes[lane].step(sent.pop(lane))
                found = {key: one[k] for key, one in step[0].items() if key == "position"}
                assert described(found) == described({"position": expected[0]["position"]})
                assert (step[1][k], step[2][k], step[3][k]) == expected[1:4]
                if expected[5] is not None:
                    assert described(step[4]["final_obs"][k]["position"]) == described(
                        expected[5]["position"]
                    )
            ended = (step[2] | step[3]).tolist()
            if mode is DISABLED and any(ended):
                # A masked reset requires that no lane is outstanding.
                while len(sent) >= 2:
                    more = envs.recv(timeout=60)
                    for k, lane in enumerate(more[4]["env_id"].tolist()):
                        expected = lanes[lane].step(sent.pop(lane))
                        assert (more[1][k], more[2][k], more[3][k]) == expected[1:4]
                mask = np.array([lane.ended for lane in lanes])
                envs.reset(options={"reset_mask": mask})
                [lanes[i].reset() for i in np.flatnonzero(mask)]
                ids = [0, 1, 2, 3]
            send(ids)


@pytest.mark.parametrize("kind", ["text", "graph", "one_of"])
def test_14_7_workers_receive_actions_of_numbers(python_backend, kind):
    env_fns = space_env_fns(action_kind=kind)
    with make_engine(python_backend, env_fns, NEXT_STEP) as envs:
        envs.reset(seed=8)
        actions = envs.action_space.sample()
        if python_backend == "sync":
            envs.send(actions)
            assert envs.recv()[4]["env_id"].tolist() == [0, 1, 2]
        else:
            with pytest.raises(error.InvalidArgument, match="use step"):
                envs.send(actions)
            envs.step(actions)


def test_14_8_sent_and_not_received(make, backend):
    envs = make(backend, num_envs=4, vector_kwargs={"batch_size": 2})
    envs.reset(seed=3)
    actions = draw_actions(envs)
    with pytest.raises(error.NoAsyncCallError, match="send"):
        envs.recv(timeout=60)
    envs.send(actions[:1], env_ids=[1])
    with pytest.raises(error.NoAsyncCallError, match="send"):
        envs.recv(timeout=60)
    with pytest.raises(ValueError, match=r"env_ids.*\[1\]"):
        envs.send(actions[:2], env_ids=[0, 1])
    envs.send(actions[:1], env_ids=[3])
    for call in (
        lambda: envs.step(actions),
        lambda: envs.step(actions[:1], env_ids=[0]),
        lambda: envs.reset(options={"reset_mask": np.array([True, False, False, False])}),
        lambda: envs.get_attr("spec"),
        lambda: envs.set_attr("np_random", envs.np_random),
        lambda: envs.get_state(),
        lambda: envs.end_episodes(np.array([True, False, False, False])),
    ):
        with pytest.raises(error.AlreadyPendingCallError, match="recv"):
            call()
    assert sorted(envs.recv(timeout=60)[4]["env_id"].tolist()) == [1, 3]
    assert len(envs.step(actions)[1]) == 4
    envs.send(actions[:3], env_ids=[0, 1, 2])
    envs.reset(seed=3)  # drops it
    with pytest.raises(error.NoAsyncCallError):
        envs.recv(timeout=60)
    other = make(backend, num_envs=4)
    other.reset(seed=3)
    assert same_bytes(envs.step(actions), other.step(actions))


def test_14_9_send_is_checked_like_step(make, backend):
    envs = make(backend, num_envs=4, vector_kwargs={"batch_size": 2})
    actions = draw_actions(envs)
    with pytest.raises(error.ResetNeeded):
        envs.send(actions)
    envs.reset(seed=3)
    with pytest.raises(error.InvalidAction, match="actions"):
        envs.send(actions[:3])
    for bad in ([0, 4], [1, 1]):
        with pytest.raises(ValueError, match="env_ids"):
            envs.send(actions[:2], env_ids=bad)
    with pytest.raises(error.NoAsyncCallError):
        envs.recv(timeout=60)
    before = actions.copy()
    envs.send(actions)
    actions[:] = 0  # they were read when they were sent
    other = make(backend, num_envs=4)
    other.reset(seed=3)
    expected = other.step(before)
    for _ in range(2):
        step = envs.recv(timeout=60)
        assert same_bytes(step[0], rows(expected[0], step[4]["env_id"]))


def test_14_10_batch_sizes(make, backend):
    for size in (0, 4, -1):
        with pytest.raises(ValueError, match="batch_size"):
            make(backend, vector_kwargs={"batch_size": size})
    with pytest.raises(TypeError, match="batch_size"):
        make(backend, vector_kwargs={"batch_size": 1.5})
    assert make(backend).batch_size == 3


# 15 States of lanes


def test_15_1_states_continue_bit_for_bit(make, backend, mode):
    envs = make(backend, mode, max_episode_steps=4, vector_kwargs={"episode_statistics": True})
    stagger(envs)
    saved = envs.get_state()
    assert len(saved) == 3

    def run():
        found = []
        for actions in draw_actions(envs, 6):
            step = envs.step(actions)
            step[4].get("episode", {}).pop("t", None)
            found.append(step)
            ended = step[2] | step[3]
            if mode is DISABLED and ended.any():
                found.append(envs.reset(options={"reset_mask": ended}))
        return found

    first = run()
    envs.set_state(saved)
    assert same_bytes(run(), first)
    assert any(step[3].any() for step in first if len(step) == 5)


def test_15_2_states_of_some_lanes(make, backend):
    envs = make(backend, max_episode_steps=4)
    stagger(envs)
    saved = envs.get_state(lanes=[2, 0])
    actions = draw_actions(envs, 2)
    steps = [envs.step(batch) for batch in actions]
    for lanes in ([1, 2], np.array([False, True, True])):
        envs.set_state(saved, lanes=lanes)
        for batch, step in zip(actions, steps, strict=True):
            again = envs.step(batch[[0, 2, 0]])
            for array, expected in zip(again[:4], step[:4], strict=True):
                assert same_bytes(rows(array, [1, 2]), rows(expected, [2, 0]))


def test_15_3_bad_states(make, backend):
    envs = make(backend)
    envs.reset(seed=1)
    saved = envs.get_state()
    before = states_of(envs)
    for state, lanes in ((saved[:2], None), (saved, [0, 1]), (saved, [0, 1, 3])):
        with pytest.raises(ValueError) as caught:
            envs.set_state(state, lanes=lanes)
        assert isinstance(caught.value, error.Error)
    with pytest.raises(ValueError, match="lanes"):
        envs.get_state(lanes=[3])
    assert same_bytes(states_of(envs), before)


def test_15_4_environments_without_states(python_backend):
    with make_engine(python_backend, counting_env_fns()) as envs:
        envs.reset()
        with pytest.raises(AttributeError, match="get_state") as caught:
            envs.get_state()
        assert isinstance(caught.value, error.Error)
        assert envs.step([0, 0, 0])[1].tolist() == [1, 1, 1]


def test_15_5_states_of_environments_in_python(python_backend, mode):
    with make_engine(python_backend, space_env_fns(), mode) as envs:
        envs.reset(seed=3)
        envs.step([0, 0, 0])
        saved = envs.get_state()
        steps = [envs.step([0, 0, 0], env_ids=[0, 1, 2]) for _ in range(1)]
        envs.set_state(saved)
        again = [envs.step([0, 0, 0], env_ids=[0, 1, 2]) for _ in range(1)]
        assert described(again) == described(steps)


def same_actions(envs, steps):
    """Return batches of actions that are the same in all lanes."""
    return draw_actions(envs, steps)[:, [1] * envs.num_envs]


def play_on(envs, batches):
    """Step with batches of actions, through the ends of episodes; return what belongs to lanes."""
    steps = []
    for batch in batches:
        step = envs.step(batch)
        episode = step[4].get("episode", {"r": np.zeros(3), "l": np.zeros(3, np.int64)})
        steps.append((*step[:4], episode["r"], episode["l"]))
        ended = step[2] | step[3]
        if envs.metadata["autoreset_mode"] is DISABLED and ended.any():
            envs.reset(options={"reset_mask": ended})
    return steps


def taken(steps, lanes):
    return [tuple(rows(array, lanes) for array in step) for step in steps]


def test_15_6_copied_lanes_continue_as_their_originals(make, backend, mode):
    envs = make(backend, mode, max_episode_steps=4, vector_kwargs={"episode_statistics": True})
    stagger(envs)
    saved = envs.get_state()
    batches = same_actions(envs, 6)
    expected = play_on(envs, batches)
    assert any(step[3].any() for step in expected)
    envs.set_state(saved)
    envs.copy_lanes([1, 1], [0, 2])
    assert same_bytes(play_on(envs, batches), taken(expected, [1, 1, 1]))


def test_15_7_all_lanes_are_read_before_any_is_set(make, backend):
    envs = make(backend, max_episode_steps=4)
    stagger(envs)
    saved = envs.get_state()
    batches = same_actions(envs, 3)
    expected = play_on(envs, batches)
    for source, target, lanes in (
        ([1, 0, 0], [0, 1, 2], [1, 0, 0]),
        (np.array([2, 1]), [1, 2], [0, 2, 1]),
        (np.array([True, False, False]), [2], [0, 1, 0]),
    ):
        envs.set_state(saved)
        envs.copy_lanes(source, target)
        assert same_bytes(play_on(envs, batches), taken(expected, lanes))


def test_15_8_bad_lanes_to_copy(make, backend):
    envs = make(backend)
    with pytest.raises(error.ResetNeeded, match="copy_lanes"):
        envs.copy_lanes([0], [1])
    envs.reset(seed=1)
    before = states_of(envs)
    for exception, match, source, target in (
        (ValueError, "target: .* 2 in source, got 1", [0, 1], [2]),
        (ValueError, "target: .*distinct", [0, 1], [2, 2]),
        (ValueError, "target", [0], [3]),
        (ValueError, "source", [-1], [0]),
        (ValueError, "source", [], []),
        (TypeError, "source", [0.5], [1]),
        (TypeError, "target", [0], "one"),
    ):
        with pytest.raises(exception, match=match) as caught:
            envs.copy_lanes(source, target)
        assert isinstance(caught.value, error.Error)
    assert same_bytes(states_of(envs), before)
    if envs.steps_some_lanes:
        envs.send(draw_actions(envs))
        with pytest.raises(error.AlreadyPendingCallError, match="copy_lanes"):
            envs.copy_lanes([0], [1])
    envs.close()
    with pytest.raises(error.ClosedEnvironmentError):
        envs.copy_lanes([0], [1])


def test_15_9_lanes_that_cannot_be_copied(python_backend):
    with make_engine(python_backend, counting_env_fns()) as envs:
        envs.reset(seed=3)
        with pytest.raises(AttributeError, match="get_state") as caught:
            envs.copy_lanes([0], [1])
        assert isinstance(caught.value, error.Error)
        assert envs.step([0, 0, 0])[1].tolist() == [1, 1, 1]


def test_copies_by_an_engine_without_states():
    with make_envs(ARRAY_ID) as envs:
        envs.reset(seed=1)
        with pytest.raises(error.UnsupportedMode, match=r"copy_lanes: .*ArrayCartPole"):
            envs.copy_lanes([0], [1])


def test_modes_and_backends_are_all_there():
    assert {NEXT_STEP, SAME_STEP, DISABLED} == set(gym.vector.AutoresetMode)
    assert PYTHON_BACKENDS == ("sync", "async", "pipes")
