from __future__ import annotations


def test_all_that_a_bar_looks_up_is_measured(loaded, bars):
    module, raw_name = loaded.dm_control_bars, loaded.mujoco_bars.against_raw_name
    measured = bars.Measured()
    for group in module.dm_control_groups(2):
        for key, env_id, lanes, threads in group.members:
            measured.rounds[bars.name(key, lanes, env_id, threads)] = [1e-6]
    measured.values.update(dict.fromkeys(map(raw_name, module.DOMAINS), 1.0))
    for bar in module.dm_control_bars(2):
        assert bar.value(measured) == 1.0
        assert {bar.met(1e12), bar.met(-1.0)} == {True, False}, bar.measure


def test_there_is_a_task_of_each_domain(loaded):
    module = loaded.dm_control_bars
    assert len(module.DOMAINS) == len({env_id.split("-")[0] for env_id in module.TASKS}) == 19


def test_ids_of_envpool(loaded):
    names = {
        "dm_control/ball_in_cup-catch-v0": "BallInCupCatch-v1",
        "dm_control/humanoid_CMU-run-v0": "HumanoidCMURun-v1",
        "dm_control/lqr-lqr_2_1-v0": "LqrLqr21-v1",
        "dm_control/swimmer-swimmer15-v0": "SwimmerSwimmer15-v1",
    }
    assert {env_id: loaded.dm_control_bars.envpool_id(env_id) for env_id in names} == names
