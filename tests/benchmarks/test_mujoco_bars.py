from __future__ import annotations


def test_everything_a_bar_looks_up_is_measured_by_a_group(loaded, bars):
    module = loaded.mujoco_bars
    every, groups = module.mujoco_bars(2), module.mujoco_groups(2)
    measured = bars.Measured()
    for group in groups:
        for key, env_id, lanes, threads in group.members:
            measured.rounds[bars.name(key, lanes, env_id, threads)] = [1e-6]
    # These are measured by probes.
    probed = [module.MEMORY, module.STEP_OVER_RAW, *map(module.against_raw_name, module.IDS)]
    probed += map(module.against_batch_name, module.RAW_BATCHES)
    measured.values.update(dict.fromkeys(probed, 1.0))
    assert len({group.title for group in groups}) == len(groups)
    for bar in every:
        assert bar.value(measured) > 0
        assert {bar.met(1e12), bar.met(-1.0)} == {True, False}, bar.measure


def test_the_profiler_has_a_process_of_its_own(loaded):
    module, ids = loaded.mujoco_bars, loaded.mujoco_ids
    (timers,) = (group for group in module.mujoco_groups(2) if group.title == "mujoco-timers")
    assert {key for key, *_ in timers.members} == {ids.CLOCK_RUNNING, ids.CLOCK_STOPPED}
    assert {env_id for _, env_id, *_ in timers.members} == set(ids.IDS)
    processes = {module.LIBRARIES[key] for key, *_ in timers.members}
    assert len(processes) == 2
    assert {each.partition(" ")[0] for each in processes} == {"gymcore"}
