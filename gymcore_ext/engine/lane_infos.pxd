"""Infos of one lane as a dict."""
from libc.stdint cimport int64_t

from gymcore_ext.engine.step cimport lanes_t


# Bytes that all infos of a lane may take.
cdef enum:
    INFO_BYTES = 4096

cdef tuple info_names(dict facts)
cdef dict infos_of_lane(const lanes_t* lanes, tuple names, int64_t lane, bint beginning)
