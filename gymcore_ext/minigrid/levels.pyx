"""MiniGrid's own levels: how each is generated, and what ends an episode of it.

Reference environments: MiniGrid-*-v0 and -v1 of minigrid 3.2, whose draws are made in their order.
"""
from cpython.pycapsule cimport PyCapsule_New

from gymcore_ext.minigrid.building cimport draw_int, fill, new_object, place, place_agent, place_anywhere, put, set_agent, wall_around
from gymcore_ext.minigrid.building cimport number
from gymcore_ext.minigrid.grid cimport (
    DOOR, GOAL, GREEN, GREY, KEY, LOCKED, RULES_CAPSULE, WALL, YELLOW, build_t, make_cell, rules_t, text_t,
)

cdef inline void put_goal(build_t* b, int x, int y) noexcept nogil:
    put(b, x, y, make_cell(GOAL, GREEN))


cdef void empty(build_t* b) noexcept nogil:
    """Numbers: x, y and direction of the start, at random if x is 0."""
    wall_around(b, 0, 0, b.width, b.height)
    put_goal(b, b.width - 2, b.height - 2)
    if number(b, 0):
        set_agent(b, number(b, 0), number(b, 1), number(b, 2))
    else:
        place_agent(b, 0, 0, b.width, b.height)


cdef text_t[1] EMPTY_MISSION = [b"get to the green goal square"]

cdef rules_t RULES_TABLE[2]
RULES_TABLE[0].name = b"Empty"
RULES_TABLE[0].number_names = b"agent_start_x agent_start_y agent_start_dir"
RULES_TABLE[0].generate = empty
RULES_TABLE[0].templates = EMPTY_MISSION
RULES_TABLE[0].template_count = 1

RULES = {RULES_TABLE[k].name.decode(): PyCapsule_New(&RULES_TABLE[k], RULES_CAPSULE, NULL) for k in range(1)}
