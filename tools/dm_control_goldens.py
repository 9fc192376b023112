"""Write tests/data/dm_control_{models,episodes}.npz: what dm_control's suite holds and does.

Run it where dm_control and a MuJoCo that it supports are installed, here 1.0.50 and 3.17.0:
``MUJOCO_GL=egl python tools/dm_control_goldens.py``. One task there needs a display. The tests
compare gymcore's models and tasks with these files on any MuJoCo, and with dm_control itself where
that is installed.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

DATA = Path(__file__).parent.parent / "tests" / "data"
MODELS, EPISODES = DATA / "dm_control_models.npz", DATA / "dm_control_episodes.npz"
SEEDS, STEPS = (0, 1), 20

# The models of the suite that differ in more than the size of the floor: a task that has each, and
# the arguments that make it here. The springs of lqr are random.
VARIANTS: dict[str, dict[str, Any]] = {
    "acrobot-swingup": {},
    "ball_in_cup-catch": {},
    "cartpole-balance": {},
    "cartpole-two_poles": {"poles": 2},
    "cartpole-three_poles": {"poles": 3},
    "cheetah-run": {},
    "dog-stand": {"floor_size": 15},
    "dog-fetch": {"floor_size": 10, "ball": True},
    "finger-spin": {},
    "fish-upright": {},
    "hopper-stand": {},
    "humanoid-stand": {},
    "humanoid_CMU-stand": {},
    "lqr-lqr_2_1": {"actuators": 1},
    "lqr-lqr_6_2": {"actuators": 2},
    "manipulator-bring_ball": {"props": ("ball", "target_ball")},
    "manipulator-bring_peg": {"props": ("peg", "target_peg")},
    "manipulator-insert_ball": {"props": ("ball", "target_ball", "cup")},
    "manipulator-insert_peg": {"props": ("peg", "target_peg", "slot")},
    "pendulum-swingup": {},
    "point_mass-easy": {},
    "quadruped-walk": {"floor_size": 10},
    "quadruped-escape": {"floor_size": 40, "terrain": True, "rangefinders": True},
    "quadruped-fetch": {"walls_and_ball": True},
    "reacher-easy": {},
    "stacker-stack_2": {"boxes": 2},
    "stacker-stack_4": {"boxes": 4},
    "swimmer-swimmer6": {"links": 6},
    "swimmer-swimmer15": {"links": 15},
    "walker-stand": {},
}

KINDS = (
    "actuator", "body", "cam", "dof", "eq", "exclude", "geom", "hfield", "jnt", "key", "light",
    "numeric", "pair", "qpos", "sensor", "site", "tendon", "tree", "tuple", "wrap",
)  # fmt: skip
# What only drawing uses, and what counts geometries that only drawing uses. `dof_length` is a scale
# for putting islands to sleep, which no task does; legacy sizes are given as memory.
NOT_PHYSICS = {
    "body_bvhadr", "body_bvhnum", "body_geomadr", "body_geomnum", "dof_length", "geom_dataid",
    "geom_group", "geom_matid", "geom_rgba", "hfield_pathadr", "light_texid", "site_matid",
    "site_rgba", "stat.center", "tendon_matid", "tendon_rgba", "tendon_width",
}  # fmt: skip
NAMED = {
    "body": "nbody", "joint": "njnt", "geom": "ngeom", "site": "nsite", "cam": "ncam",
    "light": "nlight", "tendon": "ntendon", "actuator": "nu", "sensor": "nsensor",
}  # fmt: skip


def _attributes(owner: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the numbers and arrays among an object's attributes, by name."""
    for name in dir(owner):
        value = None if name.startswith("_") else getattr(owner, name)
        if isinstance(value, (bool, int, float, np.ndarray, np.generic)):
            yield prefix + name, value


def figures(model: Any) -> dict[str, Values]:
    """Return everything in a compiled model that physics uses, by name, flat.

    Meshes are left out: the suite's collide with nothing, and what they weigh is in the bodies.
    """
    import mujoco

    solid = model.geom_type != mujoco.mjtGeom.mjGEOM_MESH
    result = {}
    for name, value in _attributes(model):
        size = name in ("na", "neq", "nq", "nu", "nv")
        if (size or name.split("_")[0] in KINDS) and name not in NOT_PHYSICS:
            rows = value[solid] if name.startswith("geom_") else value
            result[name] = np.ravel(rows).astype(np.float64)
    for part in ("opt", "stat"):
        for name, value in _attributes(getattr(model, part), f"{part}."):
            if name not in NOT_PHYSICS:
                result[name] = np.ravel(value).astype(np.float64)
    return result


def names(model: Any) -> list[str]:
    """Return the names of all elements in order, except of meshes."""
    return [
        f"{kind} {getattr(model, kind)(index).name}"
        for kind, count in NAMED.items()
        for index in range(getattr(model, count))
        if kind != "geom" or model.geom_type[index] != 7
    ]


def load(variant: str) -> Any:
    """Return the compiled model of dm_control's suite."""
    from dm_control import suite

    return suite.load(*variant.split("-"), task_kwargs={"random": 0}).physics.model.ptr


def models_golden() -> dict[str, npt.NDArray[Any]]:
    """Return the figures and the names of all models of dm_control's suite.

    The figures of a model are one array; `<variant>/sizes` says how many each name in `names` has.
    """
    result: dict[str, npt.NDArray[Any]] = {}
    for variant in VARIANTS:
        model = load(variant)
        values = figures(model)
        result.setdefault("names", np.array(list(values)))
        assert list(values) == result["names"].tolist()
        result[f"{variant}/sizes"] = np.array([value.size for value in values.values()], np.int32)
        result[f"{variant}/values"] = np.concatenate(list(values.values()))
        result[f"{variant}/elements"] = np.array(names(model))
    return result


def split(golden: Mapping[str, npt.NDArray[Any]], variant: str) -> dict[str, Values]:
    """Return the figures of one model out of the golden file, as `figures` returned them."""
    ends = np.cumsum(golden[f"{variant}/sizes"])[:-1]
    parts = np.split(golden[f"{variant}/values"], ends)
    return dict(zip(golden["names"].tolist(), parts, strict=True))


def random_actions(low: Values, high: Values, seed: int) -> Callable[[], Values]:
    """Return a function that draws an action, within -1 and 1 where MuJoCo has no bounds (1e10)."""
    random = np.random.RandomState(seed + 1000)
    low, high = np.where(low > -1e9, low, -1.0), np.where(high < 1e9, high, 1.0)
    return lambda: random.uniform(low, high)


def flat(observation: Mapping[str, Any]) -> Values:
    """Return an observation of the suite as one array."""
    return np.concatenate([np.ravel(value) for value in observation.values()]).astype(np.float64)


def episodes_golden(domains: Container[str] | None = None) -> dict[str, Values]:
    """Return the beginnings of episodes of all tasks, or of some domains, under random actions.

    `<domain>-<task>/<seed>/observations` has the first observation and the one after `STEPS` steps,
    `rewards` and `discounts` have those of the steps.
    """
    from dm_control import suite

    result = {}
    tasks = [pair for pair in suite.ALL_TASKS if domains is None or pair[0] in domains]
    for domain, task in tasks:
        for seed in SEEDS:
            env = suite.load(domain, task, task_kwargs={"random": seed})
            spec = env.action_spec()
            draw = random_actions(spec.minimum, spec.maximum, seed)
            steps = [env.reset()]
            steps += [env.step(draw()) for _ in range(STEPS)]
            key = f"{domain}-{task}/{seed}"
            observations = flat(steps[0].observation), flat(steps[-1].observation)
            result[f"{key}/observations"] = np.stack(observations)
            result[f"{key}/rewards"] = np.array([step.reward for step in steps[1:]], float)
            result[f"{key}/discounts"] = np.array([step.discount for step in steps[1:]], float)
    return result


def save(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write a compressed npz file whose bytes depend on the arrays alone."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=False)
            file.writestr(zipfile.ZipInfo(f"{name}.npy"), buffer.getvalue(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    save(MODELS, models_golden())
    save(EPISODES, episodes_golden())
