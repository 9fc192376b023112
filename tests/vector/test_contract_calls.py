"""docs/contract.md, sections 5 to 8: masked resets, errors, ownership of arrays, statistics."""

import copy

import numpy as np
import pytest

from gymcore import error
from tests.vector.contract import (
    BOUNDS,
    DISABLED,
    NEXT_STEP,
    SAME_STEP,
    arrays_of,
    batched,
    calm_seed,
    draw_actions,
    engine_infos,
    make_envs,
    rows,
    same_bytes,
    single_env,
    single_envs,
    stagger,
    states_of,
    written,
)

MASK = np.array([False, True, False])


# 5 Masked resets


def test_5_1_masks_select_lanes(make, backend, mode):
    envs = make(backend, mode)
    singles = single_envs(envs)
    seed = calm_seed(envs, 31)
    envs.reset(seed=seed)
    [env.reset(seed=seed + i) for i, env in enumerate(singles)]
    for actions in draw_actions(envs, 3):
        before = envs.step(actions)[0]
        [env.step(action) for env, action in zip(singles, actions, strict=True)]
    observations, infos = envs.reset(options={"reset_mask": MASK})
    assert engine_infos(envs, infos) == {}
    assert same_bytes(rows(observations, [0, 2]), rows(before, [0, 2]))
    assert same_bytes(rows(observations, 1), singles[1].reset()[0])
    actions = draw_actions(envs, seed=5)
    expected = [env.step(action)[0] for env, action in zip(singles, actions, strict=True)]
    assert same_bytes(envs.step(actions)[0], batched(envs, expected))


@pytest.mark.parametrize("seed", [40, [40, 41, 42], [None, 41, None]])
def test_5_2_seeds_of_other_lanes_have_no_effect(make, backend, mode, seed):
    envs, other = make(backend, mode), make(backend, mode)
    envs.reset(seed=1), other.reset(seed=1)
    observations = envs.reset(seed=seed, options={"reset_mask": MASK})[0]
    assert same_bytes(rows(observations, 1), single_env(envs).reset(seed=41)[0])
    assert envs.np_random_seed == (1, 41, 3)
    assert same_bytes(rows(envs.reset()[0], [0, 2]), rows(other.reset()[0], [0, 2]))


def test_5_3_other_options_reach_the_lanes(make, backend, mode):
    envs = make(backend, mode)
    bounds = BOUNDS[envs.spec.id]
    singles = single_envs(envs)
    expected = [env.reset(seed=9 + i, options=bounds)[0] for i, env in enumerate(singles)]
    assert same_bytes(envs.reset(seed=9, options=bounds)[0], batched(envs, expected))
    if bounds:
        assert not same_bytes(envs.reset(seed=9)[0], batched(envs, expected))
    before = envs.reset(seed=7)[0]
    observations = envs.reset(seed=9, options={"reset_mask": MASK, **bounds})[0]
    others = [rows(before, 0), expected[1], rows(before, 2)]
    assert same_bytes(observations, batched(envs, others))


def test_5_4_arguments_are_never_changed(make, backend, mode):
    envs = make(backend, mode)
    envs.reset(seed=1)
    for seed in (None, [4, None, 6], np.array([4, 5, 6])):
        options = {"reset_mask": MASK.copy(), **BOUNDS[envs.spec.id]}
        arguments = copy.deepcopy((options, seed))
        envs.reset(seed=seed, options=options)
        assert same_bytes(options, arguments[0])
        assert same_bytes(seed, arguments[1])


BAD_MASKS = [
    ([False, True, False], TypeError),
    (np.array([0, 1, 0]), TypeError),
    (None, TypeError),
    (np.array([True, False]), ValueError),
    (np.ones((3, 1), dtype=bool), ValueError),
    (np.array(True), ValueError),
    (np.zeros(3, dtype=bool), ValueError),
]


def test_5_5_bad_masks(make, backend):
    envs, other = make(backend), make(backend)
    envs.reset(seed=1), other.reset(seed=1)
    states = states_of(envs)
    for mask, exception in BAD_MASKS:
        with pytest.raises(exception, match="reset_mask") as caught:
            envs.reset(seed=5, options={"reset_mask": mask})
        assert isinstance(caught.value, error.Error)
        assert same_bytes(states_of(envs), states)
    assert same_bytes(envs.reset()[0], other.reset()[0])


def test_5_6_the_first_reset_takes_every_lane(make, backend, mode):
    envs = make(backend, mode)
    with pytest.raises(error.ResetNeeded, match="reset_mask"):
        envs.reset(seed=1, options={"reset_mask": MASK})
    assert envs.np_random_seed[1] != 2
    with pytest.raises(error.ResetNeeded):
        envs.step(draw_actions(envs))
    everyone = {"reset_mask": np.ones(3, dtype=bool)}
    observations = envs.reset(seed=4, options=everyone)[0]
    assert same_bytes(observations, make(backend, mode).reset(seed=4)[0])
    envs.reset(options={"reset_mask": MASK})


def test_5_7_masked_resets_of_waiting_lanes(make, backend):
    envs = make(backend, NEXT_STEP, max_episode_steps=2)
    seed = calm_seed(envs, 1)
    envs.reset(seed=seed)
    single = single_env(envs)
    single.reset(seed=seed + 1)
    for actions in draw_actions(envs, 2):
        envs.step(actions), single.step(actions[1])
    observations = envs.reset(options={"reset_mask": MASK})[0]
    assert same_bytes(rows(observations, 1), single.reset()[0])
    actions = draw_actions(envs, seed=3)
    step, expected = envs.step(actions), single.step(actions[1])
    assert same_bytes(rows(step[0], 1), expected[0])
    assert step[1].tolist() == [0.0, expected[1], 0.0]


# 6 Errors


def test_6_1_step_before_reset(make, backend, mode):
    envs = make(backend, mode)
    with pytest.raises(error.ResetNeeded, match="reset") as caught:
        envs.step(draw_actions(envs))
    assert isinstance(caught.value, AssertionError)


def test_6_2_another_number_of_actions(make, backend, mode):
    envs = make(backend, mode)
    envs.reset(seed=1)
    states = states_of(envs)
    actions = draw_actions(envs, 2).reshape(6, *envs.single_action_space.shape)
    for count in (0, 1, 2, 4):
        for form in (actions[:count], actions[:count].tolist()):
            with pytest.raises(error.InvalidAction, match="actions") as caught:
                envs.step(form)
            assert isinstance(caught.value, ValueError)
    assert same_bytes(states_of(envs), states)
    envs.step(draw_actions(envs))


def test_6_3_impossible_actions(make, backend, mode):
    envs = make(backend, mode)
    actions = draw_actions(envs)
    space = envs.single_action_space
    for bad in (-1, space.n, 2**62) if actions.dtype == np.int64 else (np.nan,):
        envs.reset(seed=1)
        actions[2] = bad
        with pytest.raises(error.InvalidAction) as caught:
            envs.step(actions)
        assert isinstance(caught.value, AssertionError)
        assert isinstance(caught.value, ValueError)


def test_6_4_no_actions_at_all(make, backend, mode):
    envs = make(backend, mode)
    for actions in (None, 3, "abc", object(), [None] * 3, [[0, 1], [0], 1], {}, [{}] * 3):
        envs.reset(seed=1)
        with pytest.raises(error.Error):
            envs.step(actions)


BAD_SEEDS = [
    (-1, ValueError),
    ([1, -2, 3], ValueError),
    ([1, 2], ValueError),
    ([], ValueError),
    (np.array([1, 2, 3, 4]), ValueError),
    (np.array([[1, 2, 3]]), ValueError),
    (1.0, TypeError),
    (np.float32(2), TypeError),
    ("123", TypeError),
    ([1, 2.5, 3], TypeError),
    (np.array([1.0, 2.0, 3.0]), TypeError),
    ({1, 2, 3}, TypeError),
]


def test_6_5_bad_seeds(make, backend):
    envs, other = make(backend), make(backend)
    envs.reset(seed=1), other.reset(seed=1)
    states = states_of(envs)
    for seed, exception in BAD_SEEDS:
        with pytest.raises(exception, match=r"[Ss]eed") as caught:
            envs.reset(seed=seed)
        assert isinstance(caught.value, error.Error)
        assert same_bytes(states_of(envs), states)
        assert envs.np_random_seed == (1, 2, 3)
    assert same_bytes(envs.reset()[0], other.reset()[0])


def test_6_6_bad_bounds(make, backend):
    envs, other = make(backend), make(backend)
    bounds = BOUNDS[envs.spec.id]
    swapped = dict(zip(bounds, [2.0, 1.0] if "low" in bounds else [-1.0, 1.0], strict=True))
    bad = ["abc", None, np.nan, np.inf, [1, 2]]
    for options in (swapped, *({**bounds, next(iter(bounds)): one} for one in bad)):
        envs.reset(seed=1), other.reset(seed=1)
        with pytest.raises(ValueError) as caught:
            envs.reset(seed=3, options=options)
        assert isinstance(caught.value, error.Error)
        assert envs.np_random_seed == (1, 2, 3)
        assert same_bytes(envs.reset()[0], other.reset()[0])


def test_6_7_bad_constructions(env_id, backend):
    with pytest.raises(ValueError, match="Nonsense"):
        make_envs(env_id, backend, "Nonsense")
    for num_envs in (0, -1):
        with pytest.raises(ValueError, match="num_envs"):
            make_envs(env_id, backend, num_envs=num_envs)


# 7 Ownership of arrays


def returned(observations):
    """Return the arrays of observations that the caller may write to: not the missions."""
    return arrays_of(written(observations))


def test_7_1_results_stay_as_they_are(make, backend, mode):
    envs = make(backend, mode, max_episode_steps=4, vector_kwargs={"episode_statistics": True})
    kept = [stagger(envs)]
    copies = copy.deepcopy(kept)
    for actions in draw_actions(envs, 25):
        step = envs.step(actions)
        kept.append(step)
        copies.append(copy.deepcopy(step))
        if mode is DISABLED and (step[2] | step[3]).any():
            kept.append(envs.reset(options={"reset_mask": step[2] | step[3]}))
            copies.append(copy.deepcopy(kept[-1]))
    assert same_bytes(kept, copies)
    assert sum("episode" in step[4] for step in kept if len(step) == 5) > 3
    steps = [step for step in kept if len(step) == 5]
    memory = {id(array) for step in steps for array in (*returned(step[0]), *step[1:4])}
    assert len(memory) == (3 + len(returned(steps[0][0]))) * 25


def test_7_2_the_caller_may_write(make, backend, mode):
    envs, other = (make(backend, mode, max_episode_steps=3) for _ in range(2))
    for array in returned(envs.reset(seed=1)[0]):
        array[:] = 77
    other.reset(seed=1)
    for actions in draw_actions(envs, 7):
        step, expected = envs.step(actions), other.step(actions)
        assert same_bytes(step, expected)
        ended = expected[2] | expected[3]
        for array in (*returned(step[0]), step[1]):
            array[:] = 77
        step[2][:] = step[3][:] = True
        step[4].clear()
        if mode is DISABLED and ended.any():
            options = {"reset_mask": ended}
            assert same_bytes(envs.reset(options=options), other.reset(options=options))


def test_7_3_without_copies(make, backend, mode):
    envs, other = make(backend, mode, vector_kwargs={"copy": False}), make(backend, mode)
    seed = calm_seed(envs, 1)
    first = envs.reset(seed=seed)[0]
    other.reset(seed=seed)
    for actions in draw_actions(envs, 5):
        step = envs.step(actions)
        for array, one in zip(*map(arrays_of, map(written, (step[0], first))), strict=True):
            assert array is one
        assert same_bytes(step, other.step(actions))
    again = envs.reset()[0]
    for array, one in zip(*map(arrays_of, map(written, (again, first))), strict=True):
        assert array is one


def test_7_4_actions_are_never_changed(make, backend, mode):
    envs = make(backend, mode)
    envs.reset(seed=1)
    actions = draw_actions(envs)
    if actions.dtype == np.float32:
        actions *= 3  # beyond the bounds, where physics clips
    before = actions.copy()
    envs.step(actions)
    assert same_bytes(actions, before)


# 8 Episode statistics


def with_statistics(make, backend, mode, limit=3):
    return make(backend, mode, max_episode_steps=limit, vector_kwargs={"episode_statistics": True})


def test_8_1_ended_episodes_are_reported(make, backend, mode):
    envs = with_statistics(make, backend, mode)
    for _ in range(2):
        envs.reset(seed=calm_seed(envs, 1))
        rewards = np.zeros(3)
        for actions in draw_actions(envs, 3):
            step = envs.step(actions)
            rewards += step[1]
        infos = step[4]
        assert list(infos["episode"]) == ["r", "l", "t"]
        assert same_bytes(infos["episode"]["r"], rewards)
        assert same_bytes(infos["episode"]["l"], np.array([3, 3, 3]))
        assert infos["episode"]["t"].dtype == np.float64
        assert (infos["episode"]["t"] >= 0).all()
        assert (infos["episode"]["t"] < 60).all()
        assert same_bytes(infos["_episode"], np.ones(3, dtype=bool))
        in_same_step = ["final_obs", "_final_obs", "final_info", "_final_info"]
        before = in_same_step if mode is SAME_STEP else []
        assert list(engine_infos(envs, infos)) == [*before, "episode", "_episode"]


def test_8_2_other_lanes_have_zeros(make, backend, mode):
    envs = with_statistics(make, backend, mode)
    stagger(envs)
    steps = []
    for actions in draw_actions(envs, 9):
        steps.append(envs.step(actions))
        ended = steps[-1][2] | steps[-1][3]
        if mode is DISABLED and ended.any():
            envs.reset(options={"reset_mask": ended})
    assert "episode" not in steps[0][4]
    assert steps[1][4]["_episode"].tolist() == [True, False, True]
    assert steps[2][4]["_episode"][1]
    lengths = np.array([1, 0, 1])  # lengths after `stagger`, which ends no episode here
    for step in steps:
        ended = step[2] | step[3]
        lengths += 1
        assert ("episode" in step[4]) is bool(ended.any())
        if ended.any():
            assert same_bytes(step[4]["_episode"], ended)
            assert step[4]["episode"]["l"].tolist() == (lengths * ended).tolist()
            assert (lengths[step[3]] == 3).all()
            for column in step[4]["episode"].values():
                assert not column[~ended].any()
        lengths[ended] = -1 if mode is NEXT_STEP else 0  # the resetting step is not counted


def test_8_3_masked_resets_count_anew(make, backend, mode):
    envs = with_statistics(make, backend, mode, limit=5)
    envs.reset(seed=calm_seed(envs, 1))
    steps = [envs.step(actions) for actions in draw_actions(envs, 2)]
    envs.reset(options={"reset_mask": MASK})
    steps += [envs.step(actions) for actions in draw_actions(envs, 3, seed=1)]
    episode = steps[-1][4]["episode"]
    assert episode["l"].tolist() == [5, 3 * steps[-1][2][1], 5]
    rewards = sum(step[1] for step in steps)
    assert same_bytes(episode["r"][[0, 2]], rewards[[0, 2]])


def test_8_4_no_statistics_without_asking(make, backend, mode):
    envs = make(backend, mode, max_episode_steps=1)
    envs.reset(seed=1)
    step = envs.step(draw_actions(envs))
    assert step[3].all()
    assert "episode" not in step[4]
    assert "_episode" not in step[4]
