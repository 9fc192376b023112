"""GameRows: the results of a game's agents, which are dicts by their names, as rows of arrays.

Written in Python, the loop over three agents takes more than twice as long.
"""
cimport numpy as cnp
from cpython.dict cimport PyDict_CheckExact

from gymcore_ext.python_envs.batch_buffer cimport BatchBuffer

import numpy as np

cnp.import_array()


# The rows of a record, float64 [ROWS, agents]: the reward of a step, the return and the number of steps of the episode,
# and flags, which are 1 or 0: whether agents were terminated, were truncated, and took part in the step.
cdef enum:
    REWARD, RETURN, LENGTH, TERMINATED, TRUNCATED, ACTIVE, ROWS


cdef inline dict as_dict(object values):
    return <dict> values if PyDict_CheckExact(values) else dict(values)


cdef class GameRows:
    """The agents of a game, of which some may have ended.

    Args:
        names: the names of all agents.
        buffers: for each group of agents, a buffer for the observations of its members; a dict by the groups' names, or
            a single buffer. The groups and their members are in the order of `names`.
        zeros: what each agent observes after its end.
    """

    cdef readonly tuple names
    cdef tuple zeros
    cdef object groups                   # the names of groups, or None for a single buffer
    cdef list buffers
    cdef list playing                    # whether each agent takes part in the next step
    cdef cnp.ndarray record              # of the last step

    def __cinit__(self, tuple names not None, buffers not None, tuple zeros not None):
        cdef BatchBuffer buffer
        self.groups = tuple(buffers) if isinstance(buffers, dict) else None
        self.buffers = list(buffers.values()) if isinstance(buffers, dict) else [buffers]
        count = 0
        for buffer in self.buffers:
            count += buffer.n
        if not len(names) == count == len(zeros):
            raise ValueError(f"expected rows and zeros of {len(names)} agents, got {count} and {len(zeros)}")
        self.names = names
        self.zeros = zeros
        self.playing = [False] * len(names)
        self.record = np.zeros((ROWS, len(names)))

    def begin(self, agents, observations):
        """Begin an episode with these agents; return the observations and the record as `step` does."""
        self.playing = [name in agents for name in self.names]
        self.record = np.zeros((ROWS, len(self.names)))
        self.record[<int> ACTIVE] = self.playing
        return self.world(observations), self.record

    def step(self, game, parts, *, bint is_cut=False):
        """Step a game, and note which of its agents have ended.

        Args:
            game: an environment with PettingZoo's parallel interface. If it has no agents after the step, those that it
                does not end are truncated.
            parts: the actions of all agents; only those of agents that take part are passed on.
            is_cut: whether to truncate all agents.

        Returns:
            The observations of the agents of each group, in a dict by group or alone; and the record of the step, a new
            array.
            The sum of the rewards; terminated and truncated, how the game ended, which are False if agents are left.
            The infos by agent, or None if there are none.
        """
        cdef Py_ssize_t k, n = len(self.names)
        cdef cnp.npy_intp[2] shape = [ROWS, n]
        cdef cnp.ndarray record = cnp.PyArray_ZEROS(2, shape, cnp.NPY_DOUBLE, 0)
        cdef double* row = <double*> cnp.PyArray_DATA(record)
        cdef double* last = <double*> cnp.PyArray_DATA(self.record)
        cdef bint end, cut, is_over, remain = False, any_cut = False
        cdef double total = 0.0
        cdef dict actions = {}, rewards, terminations, truncations
        cdef list playing = [False] * n
        for k in range(n):
            if self.playing[k]:
                actions[self.names[k]] = parts[k]
        observations, given, ends, cuts, infos = game.step(actions)
        is_over = not game.agents
        rewards, terminations, truncations = as_dict(given), as_dict(ends), as_dict(cuts)
        world = self.world(observations)
        for k in range(n):
            row[RETURN * n + k], row[LENGTH * n + k] = last[RETURN * n + k], last[LENGTH * n + k]
            if not self.playing[k]:
                continue
            name = self.names[k]
            end = terminations[name]
            cut = is_cut or truncations[name] or (is_over and not end)
            row[REWARD * n + k] = rewards[name]
            total += row[REWARD * n + k]
            row[RETURN * n + k] += row[REWARD * n + k]
            row[LENGTH * n + k] += 1
            row[TERMINATED * n + k], row[TRUNCATED * n + k], row[ACTIVE * n + k] = end, cut, True
            any_cut = any_cut or cut
            if not (end or cut):
                playing[k] = remain = True
        self.playing, self.record = playing, record
        for info in infos.values():
            if info:
                break
        else:
            infos = None
        return (world, record), total, not (remain or any_cut), any_cut and not remain, infos

    cdef object world(self, object observations):
        """Return the observations of the agents, which are zeros for those that do not take part."""
        cdef BatchBuffer buffer
        cdef Py_ssize_t k = 0, row
        cdef list parts = []
        cdef dict by_name = as_dict(observations)
        for buffer in self.buffers:
            buffer.begin()
            for row in range(buffer.n):
                buffer.write(row, by_name[self.names[k]] if self.playing[k] else self.zeros[k])
                k += 1
            parts.append(buffer.batch())
        return parts[0] if self.groups is None else dict(zip(self.groups, parts))

    def get_state(self):
        """Return which agents are left, and the record of the last step."""
        return list(self.playing), self.record.copy()

    def set_state(self, state):
        """Continue from what `get_state` has returned; raise ValueError if it belongs to other agents."""
        playing, record = state
        playing, record = list(playing), np.array(record, np.float64)
        if len(playing) != len(self.names) or record.shape != (ROWS, len(self.names)):
            raise ValueError(f"state: expected the rows of {len(self.names)} agents, got {len(playing)} flags and "
                             f"a record of shape {record.shape}")
        self.playing, self.record = playing, record
