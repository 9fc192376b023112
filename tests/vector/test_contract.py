"""docs/contract.md, one test per sentence: spaces, seeds, autoreset and ends of episodes.

The other sections are in the other files test_contract_*.py.
"""

import re
from pathlib import Path

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.vector import AutoresetMode
from gymcore.vector.utils import batch_space
from tests.vector.contract import (
    ASYNC_BACKENDS,
    DISABLED,
    ENDING_STATES,
    MODES,
    NEXT_STEP,
    SAME_STEP,
    TERMINATING_IDS,
    arrays_of,
    batched,
    calm_seed,
    draw_actions,
    engine_infos,
    options_of,
    rows,
    same_bytes,
    single_env,
    single_envs,
    stagger,
    states_of,
    written,
)

HERE = Path(__file__).parent


def terminating(test):
    """Exclude environments without end states."""
    test.env_ids = TERMINATING_IDS
    return test


def test_every_sentence_has_its_test():
    text = (HERE.parents[1] / "docs" / "contract.md").read_text()
    sentences = re.findall(r"^(\d+\.\d+) ", text, re.M)
    tests = [
        f"{section}.{number}"
        for file in HERE.glob("test_contract*.py")
        for section, number in re.findall(r"^def test_(\d+)_(\d+)_", file.read_text(), re.M)
    ]
    assert len(sentences) > 70
    assert set(tests) == set(sentences)
    assert sentences == sorted(sentences, key=lambda s: tuple(map(int, s.split("."))))


# 1 Spaces and shapes


def test_1_1_spaces_are_batched(make, backend, mode):
    envs = make(backend, mode)
    assert envs.num_envs == 3
    assert envs.observation_space == batch_space(envs.single_observation_space, 3)
    assert envs.action_space == batch_space(envs.single_action_space, 3)
    single = single_env(envs)
    assert envs.single_observation_space == single.observation_space
    assert envs.single_action_space == single.action_space


def test_1_2_reset_returns_observations_and_infos(make, backend, mode):
    envs = make(backend, mode)
    observations, infos = envs.reset(seed=1)
    alone = [env.reset(seed=1 + i) for i, env in enumerate(single_envs(envs))]
    expected = batched(envs, [one[0] for one in alone])
    for array, one in zip(*map(arrays_of, map(written, (observations, expected))), strict=True):
        assert (array.dtype, array.shape) == (one.dtype, one.shape)
    assert observations in envs.observation_space
    for name in alone[0][1]:
        assert np.array_equal(infos[name], [one[1][name] for one in alone])
        assert infos[f"_{name}"].all()
    assert engine_infos(envs, infos) == {}


def test_1_3_step_returns_five_things(make, backend, mode):
    envs = make(backend, mode)
    first = envs.reset(seed=calm_seed(envs, 1))[0]
    for actions in draw_actions(envs, 5):
        step = envs.step(actions)
        assert type(step) is tuple
        assert len(step) == 5
        for array, one in zip(arrays_of(step[0]), arrays_of(first), strict=True):
            assert array.dtype == one.dtype
        assert step[0] in envs.observation_space
        assert isinstance(step[4], dict)


def test_1_4_rewards_are_float64(make, backend, mode):
    envs = make(backend, mode)
    envs.reset(seed=1)
    rewards = envs.step(draw_actions(envs))[1]
    assert type(rewards) is np.ndarray
    assert (rewards.dtype, rewards.shape) == (np.float64, (3,))


def test_1_5_flags_are_bool(make, backend, mode):
    envs = make(backend, mode)
    envs.reset(seed=calm_seed(envs, 1))
    for flags in envs.step(draw_actions(envs))[2:4]:
        assert type(flags) is np.ndarray
        assert (flags.dtype, flags.shape) == (np.bool_, (3,))
        assert not flags.any()


def test_1_6_metadata_says_the_mode(make, backend, mode):
    assert make(backend, mode).metadata["autoreset_mode"] is mode
    assert make(backend, mode.value).metadata["autoreset_mode"] is mode
    default = gym.make_vec(make(backend).spec, vector_kwargs=options_of(backend))
    assert default.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    default.close()


def test_1_7_actions_in_other_forms(make, backend):
    envs = make(backend)
    actions = draw_actions(envs)
    if actions.dtype == np.float32:
        actions = np.round(actions)  # for the integer forms
    twice = np.repeat(actions, 2, axis=0)
    frozen = actions.copy()
    frozen.flags.writeable = False
    small = actions.astype(np.int8 if actions.dtype == np.int64 else np.float16)
    forms = [actions, actions.tolist(), actions.astype(np.int32), small, twice[::2], frozen]
    forms.append(actions.astype(actions.dtype.newbyteorder()))
    results = []
    for form in forms:
        envs.reset(seed=1)
        results.append(envs.step(form))
    assert all(same_bytes(results[0], result) for result in results[1:])
    if actions.dtype == np.int64:
        envs.reset(seed=1)
        with pytest.raises(error.InvalidAction):
            envs.step(actions.astype(np.float64))


def test_1_8_a_batch_of_one(make, backend, mode):
    envs = make(backend, mode, num_envs=1)
    seed = calm_seed(envs, 1)
    observations = envs.reset(seed=seed)[0]
    single = single_env(envs)
    assert same_bytes(observations, batched(envs, [single.reset(seed=seed)[0]]))
    actions = draw_actions(envs)
    step = envs.step(actions)
    assert same_bytes(step[0], batched(envs, [single.step(actions[0])[0]]))
    assert [array.shape for array in step[1:4]] == [(1,)] * 3
    assert observations in envs.observation_space


# 2 Seeds and streams


def test_2_1_an_integer_seeds_lanes_in_order(make, backend, mode):
    envs = make(backend, mode)
    observations = envs.reset(seed=123)[0]
    singles = [env.reset(seed=123 + i)[0] for i, env in enumerate(single_envs(envs))]
    assert same_bytes(observations, batched(envs, singles))


def test_2_2_a_sequence_seeds_each_lane(make, backend, mode):
    envs = make(backend, mode)
    for seeds in ([7, 7, 0], (3, 2, 1)):
        observations = envs.reset(seed=seeds)[0]
        singles = [env.reset(seed=s)[0] for env, s in zip(single_envs(envs), seeds, strict=True)]
        assert same_bytes(observations, batched(envs, singles))


def test_2_3_numpy_seeds(make, backend):
    envs = make(backend)
    for seed, plain in (
        (np.int64(5), 5),
        (np.uint8(5), 5),
        (np.array([4, 2, 9]), [4, 2, 9]),
        ([np.int32(1)] * 3, [1] * 3),
    ):
        assert same_bytes(envs.reset(seed=seed), envs.reset(seed=plain)), seed
        assert all(type(one) is int for one in envs.np_random_seed), seed


def test_2_4_large_seeds(make, backend):
    envs = make(backend)
    for seed in (2**32, 2**64 - 1, 2**200 + 17):
        observations = envs.reset(seed=seed)[0]
        singles = [env.reset(seed=seed + i)[0] for i, env in enumerate(single_envs(envs))]
        assert same_bytes(observations, batched(envs, singles)), seed
        assert envs.np_random_seed == (seed, seed + 1, seed + 2)
        assert same_bytes(rows(envs.reset(seed=[seed, 0, 1])[0], 0), singles[0]), seed


def test_2_5_the_same_seed_gives_the_same_bytes(make, backend, mode):
    runs = []
    for envs in (
        make(backend, mode, max_episode_steps=4),
        make(backend, mode, max_episode_steps=4),
    ):
        run = [envs.reset(seed=11)]
        for actions in draw_actions(envs, 13, seed=2):
            run.append(envs.step(actions))
            ended = run[-1][2] | run[-1][3]
            if mode is DISABLED and ended.any():
                run.append(envs.reset(options={"reset_mask": ended}))
        runs.append(run)
    assert same_bytes(*runs)
    assert any((step[2] | step[3]).any() for step in runs[0] if len(step) == 5)


def test_2_6_none_among_seeds(make, backend, mode):
    envs, other = make(backend, mode), make(backend, mode)
    envs.reset(seed=1), other.reset(seed=1)
    going_on = other.reset()[0]
    observations = envs.reset(seed=[50, None, 60])[0]
    assert same_bytes(rows(observations, 1), rows(going_on, 1))
    assert same_bytes(rows(observations, 0), rows(other.reset(seed=50)[0], 0))
    assert envs.np_random_seed == (50, 2, 60)


def test_2_7_streams_go_on(make, backend, mode):
    envs = make(backend, mode)
    singles = single_envs(envs)
    resets = [envs.reset(seed=3)[0], envs.reset()[0], envs.reset()[0]]
    for i, env in enumerate(singles):
        expected = [env.reset(seed=3 + i)[0], env.reset()[0], env.reset()[0]]
        assert same_bytes([rows(reset, i) for reset in resets], expected)
    assert not same_bytes(resets[0], resets[1])


def test_2_8_first_reset_without_a_seed(make, backend, mode):
    one, other = make(backend, mode), make(backend, mode)
    observations = one.reset()[0]
    assert not same_bytes(observations, other.reset()[0])
    assert len(set(one.np_random_seed)) == 3
    assert same_bytes(observations, other.reset(seed=list(one.np_random_seed))[0])


def test_2_9_seeds_and_generators_of_lanes(make, backend):
    envs = make(backend)
    envs.reset(seed=[8, 1, 5])
    assert envs.np_random_seed == (8, 1, 5)
    generators = envs.np_random
    assert type(generators) is tuple
    assert len(generators) == 3
    assert all(type(generator) is np.random.Generator for generator in generators)


def test_2_10_drawing_moves_the_lanes_stream(make, backend):
    envs, other = make(backend), make(backend)
    envs.reset(seed=1), other.reset(seed=1)
    drawn = envs.np_random[1].random(5)
    expected = single_env(envs)
    expected.reset(seed=2)
    assert same_bytes(drawn, expected.np_random.random(5))
    if backend in (*ASYNC_BACKENDS, "ray"):
        assert same_bytes(envs.reset()[0], other.reset()[0])
        return
    observations, undisturbed = envs.reset()[0], other.reset()[0]
    assert same_bytes(rows(observations, 1), expected.reset()[0])
    assert same_bytes(rows(observations, [0, 2]), rows(undisturbed, [0, 2]))
    assert not same_bytes(rows(observations, 1), rows(undisturbed, 1))


# 3 Autoreset. Lanes end by a time limit of 3 steps, lane 1 one step after the others.


def test_3_1_lanes_that_go_on_are_single_environments(make, backend, mode):
    envs = make(backend, mode)
    singles = single_envs(envs)
    seed = calm_seed(envs, 21)
    observations = envs.reset(seed=seed)[0]
    alone = [env.reset(seed=seed + i)[0] for i, env in enumerate(singles)]
    assert same_bytes(observations, batched(envs, alone))
    going_on = {1, 2}
    for actions in draw_actions(envs, 7):
        step = envs.step(actions)
        if ENDING_STATES[envs.spec.id] and not step[2][0]:
            state = ENDING_STATES[envs.spec.id]  # lane 0 ends at every step
            envs.set_attr("state", [state, *envs.get_attr("state")[1:]])
        if step[2].any() and mode is DISABLED:
            envs.reset(options={"reset_mask": step[2]})
        for i in sorted(going_on):
            single = singles[i].step(actions[i])
            assert (step[1][i], step[2][i], step[3][i]) == single[1:4]
            if single[2]:
                going_on.remove(i)
            else:
                assert same_bytes(rows(step[0], i), single[0])
        if not going_on:
            break
    assert going_on or envs.spec.id == "Blackjack-v1"


def last_step(envs):
    """Step a staggered batch with limit 3 to the end of lanes 0 and 2.

    Returns:
        That step, the steps of the single environments, and these environments, one per lane.
    """
    start, actions = draw_actions(envs, seed=99), draw_actions(envs, 2)
    stagger(envs)
    singles = single_envs(envs)
    for i, env in enumerate(singles):
        env.reset(seed=calm_seed(envs, 5) + i)
        env.step(start[i])
        if i == 1:
            env.reset()
    for batch in actions:
        step = envs.step(batch)
        expected = [env.step(action) for env, action in zip(singles, batch, strict=True)]
    assert step[3].tolist() == [True, False, True]
    return step, expected, singles


def test_3_2_next_step_returns_the_last_observation(make, backend):
    envs = make(backend, NEXT_STEP, max_episode_steps=3)
    step, expected, _ = last_step(envs)
    assert same_bytes(step[0], batched(envs, [one[0] for one in expected]))
    assert step[1].tolist() == [one[1] for one in expected]
    assert step[2].tolist() == [one[2] for one in expected]


def test_3_3_next_step_then_resets(make, backend):
    envs = make(backend, NEXT_STEP, max_episode_steps=3)
    _, _, singles = last_step(envs)
    actions = draw_actions(envs, 2, seed=4)
    step = envs.step(actions[0])
    single = singles[1].step(actions[0][1])
    assert same_bytes(rows(step[0], 0), singles[0].reset()[0])
    assert same_bytes(rows(step[0], 1), single[0])
    assert same_bytes(rows(step[0], 2), singles[2].reset()[0])
    assert step[1].tolist() == [0.0, single[1], 0.0]
    assert step[2].tolist() == [False] * 3
    assert step[3].tolist() == [False, True, False]
    step = envs.step(actions[1])
    assert same_bytes(rows(step[0], 0), singles[0].step(actions[1][0])[0])
    assert same_bytes(rows(step[0], 1), singles[1].reset()[0])


def test_3_4_next_step_has_no_final_infos(make, backend):
    envs = make(backend, NEXT_STEP, max_episode_steps=3)
    step, _, _ = last_step(envs)
    assert engine_infos(envs, step[4]) == {}
    assert engine_infos(envs, envs.step(draw_actions(envs))[4]) == {}


def test_3_5_same_step_returns_the_next_episode(make, backend):
    envs = make(backend, SAME_STEP, max_episode_steps=3)
    step, expected, singles = last_step(envs)
    assert same_bytes(rows(step[0], 0), singles[0].reset()[0])
    assert same_bytes(rows(step[0], 1), expected[1][0])
    assert same_bytes(rows(step[0], 2), singles[2].reset()[0])
    assert step[1].tolist() == [one[1] for one in expected]
    assert step[2].tolist() == [one[2] for one in expected]
    actions = draw_actions(envs, seed=8)
    assert same_bytes(rows(envs.step(actions)[0], 0), singles[0].step(actions[0])[0])


def test_3_6_same_step_keeps_final_observations(make, backend):
    step, expected, _ = last_step(make(backend, SAME_STEP, max_episode_steps=3))
    infos = step[4]
    assert infos["_final_obs"].dtype == np.bool_
    assert infos["_final_obs"].tolist() == [True, False, True]
    for i in (0, 2):
        assert same_bytes(rows(infos["final_obs"], i), expected[i][0])


def test_3_7_same_step_keeps_final_infos(make, backend):
    envs = make(backend, SAME_STEP, max_episode_steps=3)
    step, expected, _ = last_step(envs)
    infos = engine_infos(envs, step[4])
    assert list(infos) == ["final_obs", "_final_obs", "final_info", "_final_info"]
    assert engine_infos(envs, infos["final_info"]) == {}
    for name in expected[0][4]:
        found, mask = infos["final_info"][name], infos["final_info"][f"_{name}"]
        assert mask.tolist() == [True, False, True]
        assert np.array_equal(found[mask], [expected[i][4][name] for i in (0, 2)])
    assert infos["_final_info"].dtype == np.bool_
    assert infos["_final_info"].tolist() == [True, False, True]


def test_3_8_same_step_has_no_infos_without_an_end(make, backend):
    envs = make(backend, SAME_STEP, max_episode_steps=3)
    envs.reset(seed=calm_seed(envs, 0))
    ends = []
    for actions in draw_actions(envs, 4):
        step = envs.step(actions)
        ends.append(bool((step[2] | step[3]).any()))
        assert (engine_infos(envs, step[4]) != {}) is ends[-1]
    assert ends[:3] == [False, False, True]
    assert not ends[3] or envs.spec.id == "Blackjack-v1"


def test_3_9_disabled_returns_the_last_observation(make, backend):
    envs = make(backend, DISABLED, max_episode_steps=3)
    step, expected, _ = last_step(envs)
    assert same_bytes(step[0], batched(envs, [one[0] for one in expected]))
    assert step[1].tolist() == [one[1] for one in expected]
    assert step[2].tolist() == [one[2] for one in expected]
    assert engine_infos(envs, step[4]) == {}


def test_3_10_disabled_refuses_to_step_ended_lanes(make, backend):
    envs = make(backend, DISABLED, max_episode_steps=3)
    last_step(envs)
    states = states_of(envs)
    for _ in range(2):
        with pytest.raises(error.ResetNeeded, match=r"\[0, 2\]"):
            envs.step(draw_actions(envs))
    assert same_bytes(states_of(envs), states)
    envs.reset(options={"reset_mask": np.array([True, False, False])})
    with pytest.raises(error.ResetNeeded, match=r"\[2\]"):
        envs.step(draw_actions(envs))


def test_3_11_disabled_goes_on_after_a_masked_reset(make, backend):
    envs = make(backend, DISABLED, max_episode_steps=3)
    step, expected, singles = last_step(envs)
    observations, infos = envs.reset(options={"reset_mask": step[2] | step[3]})
    assert engine_infos(envs, infos) == {}
    assert same_bytes(rows(observations, 1), expected[1][0])
    for i in (0, 2):
        assert same_bytes(rows(observations, i), singles[i].reset()[0])
    actions = draw_actions(envs, seed=6)
    step = envs.step(actions)
    singles = [env.step(action)[0] for env, action in zip(singles, actions, strict=True)]
    assert same_bytes(step[0], batched(envs, singles))
    assert step[3].tolist() == [False, True, False]


# 4 Ends of episodes


@terminating
def test_4_1_end_states_terminate(make, backend, mode, env_id):
    envs = make(backend, mode)
    envs.reset(seed=0)
    envs.set_attr(
        "state", [envs.get_attr("state")[0], ENDING_STATES[env_id], ENDING_STATES[env_id]]
    )
    step = envs.step(draw_actions(envs))
    assert step[2].tolist() == [False, True, True]
    assert step[3].tolist() == [False] * 3


def test_4_2_the_time_limit_truncates(make, backend, mode):
    envs = make(backend, mode, max_episode_steps=4)
    envs.reset(seed=calm_seed(envs, 0))
    steps = [envs.step(actions) for actions in draw_actions(envs, 4)]
    assert [step[3].tolist() for step in steps] == [[False] * 3] * 3 + [[True] * 3]
    assert not any(step[2].any() for step in steps)


@terminating
def test_4_3_both_at_once(make, backend, mode, env_id):
    envs = make(backend, mode, max_episode_steps=2)
    envs.reset(seed=calm_seed(envs, 0))
    envs.step(draw_actions(envs))
    envs.set_attr("state", [ENDING_STATES[env_id], *envs.get_attr("state")[1:]])
    step = envs.step(draw_actions(envs))
    assert step[2].tolist() == [True, False, False]
    assert step[3].tolist() == [True, True, True]


def test_4_4_steps_are_counted_for_each_lane(make, backend, mode):
    envs = make(backend, mode, max_episode_steps=5)
    stagger(envs)
    flags = [envs.step(actions)[3].tolist() for actions in draw_actions(envs, 4)]
    assert flags == [[False] * 3] * 3 + [[True, False, True]]


def test_4_5_no_limit(make, backend):
    envs = make(backend, max_episode_steps=-1)
    envs.reset(seed=calm_seed(envs, 0))
    start = envs.get_attr("state")
    limit = gym.spec(envs.spec.id).max_episode_steps or 0
    for _ in range(limit + 20 if backend == "native" else 250):
        envs.set_attr("state", list(start))
        step = envs.step(draw_actions(envs))
        assert not step[2].any()
        assert not step[3].any()


def test_all_modes_are_covered():
    assert {NEXT_STEP, SAME_STEP, DISABLED} == set(AutoresetMode) == set(MODES)
