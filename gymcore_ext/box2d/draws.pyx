"""Single numbers of a NumPy generator, without what a call of the generator costs."""
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport uint32_t, uint64_t

cimport cython

cdef extern from "numpy/random/bitgen.h":
    ctypedef struct bitgen_t:
        void* state
        uint32_t (*next_uint32)(void* state) noexcept nogil
        double (*next_double)(void* state) noexcept nogil


@cython.final
cdef class Draws:
    """Draws from a NumPy generator what its own methods would, to the bit, and moves it on as they do.

    0.05 us a number instead of 1 to 2. NumPy's lock is not taken: draw from a generator in one thread at a time.

    Attributes:
        generator: The generator.
    """

    cdef bitgen_t* bitgen
    cdef readonly object generator

    def __cinit__(self, generator):
        """Take the generator."""
        self.bitgen = <bitgen_t*> PyCapsule_GetPointer(generator.bit_generator.capsule, b"BitGenerator")
        self.generator = generator

    def uniform(self, double low, double high):
        """Draw a number as `uniform(low, high)` does."""
        cdef double span = high - low
        return low + span * self.bitgen.next_double(self.bitgen.state)

    def integers(self, long long low, long long high):
        """Draw one of low, ..., high - 1 as `integers(low, high)` does.

        D. Lemire, "Fast Random Integer Generation in an Interval" (2019), over 32 bits; of one number nothing is drawn.
        """
        cdef uint32_t choices, threshold
        cdef uint64_t product
        if not 1 <= high - low < 0x7fffffff:
            raise ValueError(f"expected low < high < low + 2**31 - 1, got {low} and {high}")
        choices = <uint32_t> (high - low)
        if choices == 1:
            return low
        product = <uint64_t> self.bitgen.next_uint32(self.bitgen.state) * choices
        if <uint32_t> product < choices:
            threshold = (<uint32_t> 0 - choices) % choices
            while <uint32_t> product < threshold:
                product = <uint64_t> self.bitgen.next_uint32(self.bitgen.state) * choices
        return low + <long long> (product >> 32)

    def pair(self, double scale):
        """Draw two numbers in [-1, 1), as `uniform(-1, 1)` does, divided by `scale`."""
        cdef double first = -1.0 + 2.0 * self.bitgen.next_double(self.bitgen.state)
        cdef double second = -1.0 + 2.0 * self.bitgen.next_double(self.bitgen.state)
        return first / scale, second / scale
