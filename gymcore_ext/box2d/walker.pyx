"""The arithmetic around a step of BipedalWalker: what its motors cost before it, the observation after it."""
from libc.math cimport fabs, fabsf

cimport cython
cimport numpy as cnp

cnp.import_array()


def effort(action, double unit):
    """Read four numbers, and what each of them costs: `minimum(abs(number), 1) * unit` in their own precision.

    Args:
        action: The numbers.
        unit: What a motor costs at full torque.

    Returns:
        A tuple of four floats and the costs, a new array [4] of the action's dtype; None for anything but a float32 or
        float64 array [4] without NaN in the machine's byte order.
    """
    cdef cnp.ndarray numbers, costs
    cdef cnp.npy_intp size = 4, i
    cdef double large, number[4]
    cdef float small
    cdef bint is_single
    if type(action) is not cnp.ndarray:
        return None
    numbers = action
    if numbers.ndim != 1 or cnp.PyArray_DIM(numbers, 0) != 4 or not cnp.PyArray_ISBEHAVED_RO(numbers):
        return None
    is_single = cnp.PyArray_TYPE(numbers) == cnp.NPY_FLOAT32
    if not is_single and cnp.PyArray_TYPE(numbers) != cnp.NPY_FLOAT64:
        return None
    for i in range(4):
        if is_single:
            number[i] = (<float*> cnp.PyArray_GETPTR1(numbers, i))[0]
        else:
            number[i] = (<double*> cnp.PyArray_GETPTR1(numbers, i))[0]
        if number[i] != number[i]:
            return None
    costs = cnp.PyArray_EMPTY(1, &size, cnp.NPY_FLOAT32 if is_single else cnp.NPY_FLOAT64, 0)
    for i in range(4):
        if is_single:
            small = fabsf(<float> number[i])
            (<float*> cnp.PyArray_DATA(costs))[i] = (small if small < 1 else <float> 1) * <float> unit
        else:
            large = fabs(number[i])
            (<double*> cnp.PyArray_DATA(costs))[i] = (large if large < 1 else 1.0) * unit
    return (number[0], number[1], number[2], number[3]), costs


def after_costs(double reward, cnp.ndarray costs):
    """Take the costs from a reward, one after the other, in the precision of the costs.

    Args:
        reward: What there is before.
        costs: [k] of a floating dtype.
    """
    cdef cnp.npy_intp i
    cdef float single
    if cnp.PyArray_ISCARRAY_RO(costs) and cnp.PyArray_TYPE(costs) == cnp.NPY_FLOAT32:
        single = <float> reward
        for i in range(cnp.PyArray_SIZE(costs)):
            single = single - (<float*> cnp.PyArray_DATA(costs))[i]
        return <double> single
    left = costs.dtype.type(reward)
    for cost in costs:
        left = left - cost
    return float(left)


@cython.final
cdef class Observer:
    """Turns angles and speeds of the walker into the observation."""

    cdef double width, height, fps, hip, knee

    def __cinit__(self, double width, double height, double fps, double hip, double knee):
        """Keep the sizes.

        Args:
            width: Of the picture, metres.
            height: Of the picture, metres.
            fps: Steps a second.
            hip: Fastest speed of a hip, rad/s.
            knee: Fastest speed of a knee, rad/s.
        """
        self.width, self.height, self.fps, self.hip, self.knee = width, height, fps, hip, knee

    def observe(
        self, double angle, double turn, double x_speed, double y_speed,
        double hip_1, double hip_speed_1, double knee_1, double knee_speed_1, bint foot_1,
        double hip_2, double hip_speed_2, double knee_2, double knee_speed_2, bint foot_2, list fractions
    ):
        """Return the observation, a new float32 [14 + rays], in Gymnasium's order of operations."""
        cdef Py_ssize_t rays = len(fractions), i
        cdef cnp.npy_intp size = 14 + rays
        cdef cnp.ndarray observation = cnp.PyArray_EMPTY(1, &size, cnp.NPY_FLOAT32, 0)
        cdef float* out = <float*> cnp.PyArray_DATA(observation)
        out[0] = <float> angle
        out[1] = <float> (2.0 * turn / self.fps)
        out[2] = <float> (0.3 * x_speed * self.width / self.fps)
        out[3] = <float> (0.3 * y_speed * self.height / self.fps)
        out[4] = <float> hip_1
        out[5] = <float> (hip_speed_1 / self.hip)
        out[6] = <float> (knee_1 + 1.0)
        out[7] = <float> (knee_speed_1 / self.knee)
        out[8] = <float> 1.0 if foot_1 else <float> 0.0
        out[9] = <float> hip_2
        out[10] = <float> (hip_speed_2 / self.hip)
        out[11] = <float> (knee_2 + 1.0)
        out[12] = <float> (knee_speed_2 / self.knee)
        out[13] = <float> 1.0 if foot_2 else <float> 0.0
        for i in range(rays):
            out[14 + i] = <float> <double> fractions[i]
        return observation
