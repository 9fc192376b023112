"""Rollouts [T, num_envs] of a policy: `store` for its outputs, and advantages.

This module is compiled because a step of 64 CartPoles takes only a microsecond. NumPy would need half a microsecond to
store three rows, and 40 times as long as this module for the advantages of 128 steps.
"""
cimport numpy as cnp
from gymcore_ext.arrays cimport array_pointer, copy_bytes
from libc.stdint cimport int64_t, uint8_t

import numpy as np

cnp.import_array()


cdef extern from *:
    """
    #include "gymcore/platform.h"

    /* Compute the advantages of one step of all lanes from those of the next step. */
    static void gymcore_advantages_row(
        int64_t n, float gamma, float decay, const double *GYMCORE_RESTRICT rewards,
        const float *GYMCORE_RESTRICT values, const float *GYMCORE_RESTRICT next_values,
        const float *GYMCORE_RESTRICT final_values, const uint8_t *GYMCORE_RESTRICT terminated,
        const uint8_t *GYMCORE_RESTRICT truncated, const uint8_t *GYMCORE_RESTRICT reset_steps,
        const float *GYMCORE_RESTRICT next_advantages, float *GYMCORE_RESTRICT advantages,
        float *GYMCORE_RESTRICT returns)
    {
        GYMCORE_INDEPENDENT_LANES
        for (int64_t i = 0; i < n; i++) { /* loop: advantages */
            /* Factors of 0 and 1 instead of conditions, which would keep the loop scalar. */
            float alive = (float)(terminated[i] ^ 1), going = (float)((terminated[i] | truncated[i]) ^ 1);
            float counts = (float)(reset_steps[i] ^ 1), final_value = final_values[i], next_value = next_values[i];
            float value_after = truncated[i] > terminated[i] ? final_value : next_value;
            float error = (float)rewards[i] + gamma * (value_after * alive) - values[i];
            float advantage = (error + decay * (next_advantages[i] * going)) * counts;
            advantages[i] = advantage;
            returns[i] = values[i] + advantage;
        }
    }
    """
    void advantages_row "gymcore_advantages_row"(
        int64_t n, float gamma, float decay, const double* rewards, const float* values, const float* next_values,
        const float* final_values, const uint8_t* terminated, const uint8_t* truncated, const uint8_t* reset_steps,
        const float* next_advantages, float* advantages, float* returns) noexcept nogil


def compute_advantages(
    rewards, values, terminated, truncated, final_values, reset_steps, errors, *, float gamma, float gae_lambda,
):
    """See `gymcore.learn.compute_advantages`; `rewards` has two axes. `errors` has the exception classes."""
    cdef Py_ssize_t step, t, steps, n
    shape = rewards.shape
    steps, n = shape
    cdef const double* reward = <const double*> array_pointer(
        rewards, "rewards", cnp.NPY_FLOAT64, shape, False, errors)
    cdef const float* value = <const float*> array_pointer(
        values, "values", cnp.NPY_FLOAT32, (steps + 1, n), False, errors)
    cdef const uint8_t* terminations = <const uint8_t*> array_pointer(
        terminated, "terminated", cnp.NPY_BOOL, shape, False, errors)
    cdef const uint8_t* truncations = <const uint8_t*> array_pointer(
        truncated, "truncated", cnp.NPY_BOOL, shape, False, errors)
    cdef const float* last = <const float*> array_pointer(
        final_values, "final_values", cnp.NPY_FLOAT32, shape, False, errors)
    cdef const uint8_t* resets = <const uint8_t*> array_pointer(
        reset_steps, "reset_steps", cnp.NPY_BOOL, shape, False, errors)
    advantages, returns, zeros = np.empty(shape, np.float32), np.empty(shape, np.float32), np.zeros(n, np.float32)
    cdef float* advantage = <float*> cnp.PyArray_DATA(advantages)
    cdef float* target = <float*> cnp.PyArray_DATA(returns)
    cdef const float* next_advantage = <const float*> cnp.PyArray_DATA(zeros)
    for step in range(steps - 1, -1, -1):
        t = step * n
        advantages_row(n, gamma, gamma * gae_lambda, reward + t, value + t, value + t + n, last + t, terminations + t,
                       truncations + t, resets + t, next_advantage, advantage + t, target + t)
        next_advantage = advantage + t
    return advantages, returns


_NAMES = ("actions", "log_probs", "values")


def store(tuple targets not None, outputs, errors):
    """Copy the outputs of a policy into arrays.

    Args:
        targets: arrays for actions, log-probabilities and values.
        outputs: a tuple of as many arrays of the same shapes, or of objects that `numpy.asarray` converts to these.
        errors: namespace of exception classes: InvalidArgument, ArgumentTypeError.

    Raises:
        ArgumentTypeError: If `outputs` is not a tuple of as many arrays.
        InvalidArgument: If an array has another shape, or a dtype of another kind.
    """
    cdef Py_ssize_t k
    cdef cnp.ndarray target, output
    if not isinstance(outputs, tuple) or len(<tuple> outputs) != len(targets):
        got = f"{len(outputs)} of them" if isinstance(outputs, tuple) else type(outputs).__name__
        raise errors.ArgumentTypeError(f"policy: expected a tuple {_NAMES[:len(targets)]}, got {got}")
    for k in range(len(targets)):
        target = <cnp.ndarray?> targets[k]
        if isinstance((<tuple> outputs)[k], cnp.ndarray):
            output = <cnp.ndarray> (<tuple> outputs)[k]
            if (cnp.PyArray_TYPE(output) == cnp.PyArray_TYPE(target)
                    and cnp.PyTypeNum_ISNUMBER(cnp.PyArray_TYPE(target)) and cnp.PyArray_ISCARRAY_RO(output)
                    and cnp.PyArray_ISCARRAY(target) and cnp.PyArray_SAMESHAPE(output, target)):
                copy_bytes(cnp.PyArray_DATA(target), cnp.PyArray_DATA(output), cnp.PyArray_NBYTES(target))
                continue
        array = np.asarray((<tuple> outputs)[k])
        if array.shape != (<object> target).shape or not np.can_cast(array.dtype, target.dtype, "same_kind"):
            shape = (<object> target).shape
            raise errors.InvalidArgument(
                f"policy: expected {_NAMES[k]} {target.dtype} {shape}, got {array.dtype} {array.shape}")
        (<object> target)[...] = array
