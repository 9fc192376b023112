"""Each module of gymcore has its tests in a file of its name, or is in the table below."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Modules that are tested together, because they have one reference or only serve another module,
# and the files of these tests.
TESTED_TOGETHER = {
    "checking/data": "utils/test_env_checker.py",
    "checking/passive": "utils/test_passive_env_checker.py",
    "cli/errors": "cli/test_{recording,plots}.py",
    "compat/gym21/{bridges,core,done_envs}": "compat/test_single.py compat/test_vector.py",
    "compat/gym21/envs/{done_classes,registration}": "compat/test_gym21.py",
    "compat/gym21/envs/classic_control/rendering": "compat/test_gym21.py",
    "compat/gym21/envs/toy_text/discrete": "compat/test_gym21.py",
    "compat/gym21/utils/seeding": "compat/test_gym21.py",
    "compat/gym26/core": "compat/gym26/test_names.py compat/test_resets.py",
    "compat/gym26/wrappers/images": "compat/gym26/wrappers/test_observations.py",
    "compat/gym26/wrappers/transforms": "compat/gym26/wrappers/test_{actions,observations}.py",
    "compat/gymnasium029/{core,envs/registration}": "compat/programs/test_gymnasium029.py",
    "compat/old_envs": "compat/test_single.py compat/test_vector.py",
    "compat/old_modules": "compat/gym26/test_names.py",
    "distributed/cluster": "distributed/test_two_nodes.py",
    "environment/requests": "environment/test_process.py environment/test_sockets.py",
    "envs/atari/{last_action,library,memory}": "envs/atari/test_{atari_env,vector_env}.py",
    "envs/box2d/bipedal_walker_{compiled,python}": "envs/box2d/test_bipedal_walker.py",
    "envs/box2d/box2d_env": "envs/box2d/test_subclasses.py",
    "envs/box2d/car_{dynamics,racing_compiled,racing_python}": "envs/box2d/test_car_racing.py",
    "envs/box2d/car_racing_rendering": "envs/box2d/test_car_racing.py envs/box2d/test_raster.py",
    "envs/box2d/library": "envs/box2d/test_compiled_env.py",
    "envs/box2d/lunar_lander_{compiled,python}": "envs/box2d/test_lunar_lander.py",
    "envs/classic_control/{cartpole,continuous_mountain_car,mountain_car,pendulum,utils}": (
        "envs/classic_control/test_{parity,parity_steps,rendering,leftovers}.py"
    ),
    "envs/dm_control/models/{arms,dog,generated,mjcf,quadruped}": "envs/dm_control/test_models.py",
    "envs/dm_control/{arms,cartpole,dog,humanoid,lqr,pendulums}": (
        "envs/dm_control/test_{suite,parity}.py"
    ),
    "envs/dm_control/{planar,quadruped,swimming,targets}": "envs/dm_control/test_{suite,parity}.py",
    "envs/lbf/{drawing,ids}": "envs/lbf/test_env.py",
    "envs/mamujoco/{graphs,ids,models}": "envs/mamujoco/test_{env,parity}.py",
    "envs/rware/{drawing,ids}": "envs/rware/test_env.py",
    "envs/minigrid/instructions": "envs/minigrid/test_missions.py",
    "envs/minigrid/{levels,world}": "envs/minigrid/test_{env,parity}.py",
    "envs/mpe/{drawing,worlds}": "envs/mpe/test_{env,parity}.py",
    "envs/mujoco/{ant,half_cheetah,hopper,humanoid,humanoidstandup}_v{4,5}": (
        "envs/mujoco/test_{parity,arguments,models}.py"
    ),
    "envs/mujoco/inverted_{double_pendulum,pendulum}_v{4,5}": (
        "envs/mujoco/test_{parity,arguments,models}.py"
    ),
    "envs/mujoco/{pusher,reacher,swimmer,walker2d}_v{4,5}": (
        "envs/mujoco/test_{parity,arguments,models}.py"
    ),
    "envs/mujoco/{description,quantities,weights}": "envs/mujoco/test_{program,compiled_env}.py",
    "envs/mujoco/library": "envs/mujoco/test_{mujoco_env,compiled_env}.py",
    "envs/mujoco/{retired,tasks}": "envs/mujoco/test_parity.py",
    "envs/mujoco/utils": "envs/mujoco/test_{arguments,replaced}.py",
    "envs/phys2d/{cartpole,pendulum}": "envs/phys2d/test_{parity,render}.py",
    "envs/toy_text/{blackjack,cliffwalking,frozen_lake,taxi,utils}": (
        "envs/toy_text/test_{parity,arguments,tabular}.py"
    ),
    "envs/toy_text/figures": "envs/toy_text/test_render.py",
    "experimental/functional": "experimental/test_functional_env.py",
    "foreign": "interop/test_gymnasium.py",
    "jit/{code_libraries,compiled_numpy,compiled_random,lane_memory}": (
        "jit/test_compiled_functions.py"
    ),
    "jit/compiler": "jit/test_{compiled,code_files}.py",
    "jit/conversion/{assembly,assignments,calls,copies}": "jit/conversion/test_converter.py",
    "jit/conversion/{generators,keys,pools,stores}": "jit/conversion/test_objects.py",
    "jit/conversion/{expressions,layouts,loops,obstacles}": "jit/conversion/test_converter.py",
    "jit/conversion/{outputs,proof,rendering,scope,source}": "jit/conversion/test_converter.py",
    "jit/conversion/{statements,syntax,tables,tracing,unit}": "jit/conversion/test_converter.py",
    "jit/{declarations,env,math}": "jit/test_{interpreted,compiled,properties}.py",
    "jit/loops": "jit/test_{constants,ended_lanes}.py",
    "learn/policies": "learn/test_evaluation.py",
    "learn/settings": "learn/test_ppo.py",
    "native/lane_generator": "ext/test_random_streams.py",
    "native/python_step": "envs/test_overrides.py envs/mujoco/test_python_steps.py",
    "native/struct_env": "ext/test_struct_lanes.py envs/atari/test_vector_env.py",
    "remote/space_messages": "remote/test_vector_env.py",
    "rendering/area_resizer": "ext/test_atari_{frames,games}.py",
    "spaces/composite": "spaces/test_{space,nested}.py",
    "spaces/masks": "spaces/test_{discrete,graph,multi_binary,multi_discrete,oneof,text}.py",
    "specs/gymnasium_ids": "interop/test_gymnasium.py",
    "specs/{registered,suggestions}": "specs/test_lookup.py",
    "utils/play_keys": "utils/test_play.py cli/test_play.py",
    # Their names are those of gymcore.base.
    "utils/{colorize,ezpickle,record_constructor,seeding}": (
        "base/test_{colorize,ezpickle,record_constructor,seeding}.py"
    ),
    "vector/engine": "vector/test_contract{,_calls,_lanes,_ways}.py vector/test_engine_options.py",
    "vector/lane_episodes": "vector/test_contract.py",
    "vector/lane_states": "vector/test_{sync_states,state_records}.py",
    "vector/protocols": "vector/test_vector_env.py",
    "vector/utils/space_utils": "spaces/test_batching.py",
    "vector/workers/default_loop": "vector/test_python_results.py vector/test_start_methods.py",
    "vector/workers/pool": "vector/test_faults_{close,deaths,exceptions,restart,timeouts}.py",
    "wrappers/{jax_to_numpy,jax_to_torch,numpy_to_torch}": "wrappers/test_array_conversion.py",
    "wrappers/stateful_reward": "wrappers/test_normalization.py",
    "wrappers/vector/{jax_to_numpy,jax_to_torch,numpy_to_torch}": (
        "wrappers/vector/test_array_conversion.py"
    ),
    "wrappers/vector/stateful_reward": "wrappers/vector/test_normalization.py",
}

MODULES = [
    path.relative_to(ROOT / "gymcore").with_suffix("").as_posix()
    for path in sorted((ROOT / "gymcore").rglob("*.py"))
    if path.stem not in ("__init__", "__main__") and "paths" not in path.parts
]


def expanded(text: str) -> list[str]:
    """Return the texts that a shell makes of one with braces: a1 and a2 of a{1,2}."""
    braces = re.search(r"\{(.*?)\}", text)
    if braces is None:
        return [text]
    texts = [text[: braces.start()] + part + text[braces.end() :] for part in braces[1].split(",")]
    return [each for text in texts for each in expanded(text)]


def has_test_file(module: str) -> bool:
    """Return whether tests/spaces/test_box.py exists, for spaces/box."""
    return (ROOT / "tests" / module).with_name(f"test_{Path(module).name}.py").exists()


def test_modules_without_a_test_file_are_in_the_table() -> None:
    entries = [module for entry in TESTED_TOGETHER for module in expanded(entry)]
    assert sorted(entries) == [module for module in MODULES if not has_test_file(module)]


@pytest.mark.parametrize("entry", TESTED_TOGETHER)
def test_the_table_names_files(entry: str) -> None:
    for file in (each for text in TESTED_TOGETHER[entry].split() for each in expanded(text)):
        assert Path(file).name.startswith("test_")
        assert (ROOT / "tests" / file).exists(), file
