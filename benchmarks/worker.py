"""A process that holds open environments of one library and times them on request.

`peers.py` starts one for every library, if necessary in another interpreter, and communicates in
lines of JSON: `{"open": [key, id, num_envs, threads]}`, `{"measure": name, "seconds": s}`,
`{"close": name}`, `{"call": function, "arguments": [...]}`. A library that aborts ends only its own
process.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import sys
from importlib import metadata
from typing import Any


def main() -> None:
    """Answer requests until the pipe closes."""
    # Libraries print to stdout while they load: keep the pipe for replies.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    contenders = importlib.import_module("contenders")
    measures = importlib.import_module("measures")
    engine_measures = importlib.import_module("engine_measures")
    wrapper_measures = importlib.import_module("wrapper_measures")
    remote_measures = importlib.import_module("remote_measures")
    contenders.CONTENDERS.update(measures.CONTENDERS | engine_measures.CONTENDERS)
    contenders.CONTENDERS.update(wrapper_measures.CONTENDERS | remote_measures.CONTENDERS)
    ray_measures = importlib.import_module("ray_measures")
    contenders.CONTENDERS.update(ray_measures.CONTENDERS)
    interop_measures = importlib.import_module("interop_measures")
    contenders.CONTENDERS.update(interop_measures.CONTENDERS)
    jit_measures = importlib.import_module("jit_measures")
    contenders.CONTENDERS.update(jit_measures.CONTENDERS)
    mujoco_measures = importlib.import_module("mujoco_measures")
    contenders.CONTENDERS.update(mujoco_measures.CONTENDERS)
    atari_measures = importlib.import_module("atari_measures")
    contenders.CONTENDERS.update(atari_measures.CONTENDERS)
    learn_measures = importlib.import_module("learn_measures")
    contenders.CONTENDERS.update(learn_measures.CONTENDERS)
    probes = {**vars(measures), **vars(mujoco_measures), "version": version}
    if hasattr(os, "register_at_fork"):
        # If this process dies, its children must not keep open the pipe that peers.py reads.
        os.register_at_fork(after_in_child=functools.partial(os.dup2, 2, answers.fileno()))
    sessions: dict[str, Any] = {}
    for line in sys.stdin:
        request = json.loads(line)
        answer: dict[str, Any] = {}
        try:
            if "open" in request:
                key, env_id, num_envs, threads = request["open"]
                name = f"{key}/{env_id}/{num_envs}/{threads}"
                sessions[name] = contenders.open_session(key, env_id, num_envs, threads)
                answer = {"name": name, "steps_per_call": sessions[name].steps_per_call}
            elif "measure" in request:
                answer = {"seconds": sessions[request["measure"]].measure(request["seconds"])}
            elif "close" in request:
                sessions.pop(request["close"]).close()
            else:
                answer = {"value": probes[request["call"]](*request["arguments"])}
        except LookupError as error:
            answer = {"missing": str(error).split("\n", 1)[0]}
        except Exception as error:
            reason = str(error).split("\n", 1)[0]
            answer = {"failed": f"{type(error).__name__}: {reason}"}
        answers.write(json.dumps(answer) + "\n")


def version(module: str) -> str | None:
    """Return the version in a module, or that of its distribution if the module has none."""
    try:
        return getattr(sys.modules.get(module), "__version__", None) or metadata.version(module)
    except metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
