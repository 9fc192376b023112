"""What CarRacing keeps of a lane: its physics writes it, and its picture shows it."""
from libc.stdint cimport int32_t, int64_t, uint8_t

from gymcore_ext.box2d.track cimport CHECKPOINTS, MAX_POINTS, track_point_t
from gymcore_ext.box2d.worlds cimport body_t, lane_t


cdef enum:
    WHEELS = 4
    MARKS = 30         # of skidding wheels that are kept
    MARK_POINTS = 30   # of one of them
    MAX_TILES = 2504   # a track has some 300


ctypedef struct wheel_t:
    double gas, brake, steer, phase, omega


ctypedef struct skid_t:     # of a wheel
    int64_t mark            # the number of the mark that it makes, or -1
    int32_t points, on_grass
    int32_t begins          # whether it has skidded for a step
    int32_t tiles           # how many it is on


ctypedef struct mark_t:
    float points[MARK_POINTS][2]
    int32_t count, on_grass


ctypedef struct progress_t:
    double draws[2 * CHECKPOINTS]
    double road_color[3]
    double bg_color[3]
    double grass_color[3]
    double reward, prev_reward, t, shown_reward, fuel_spent, lap_complete_percent
    wheel_t wheels[WHEELS]
    skid_t skids[WHEELS]
    mark_t marks[MARKS]
    int64_t marks_made
    int32_t tile_visited_count, new_lap
    int32_t lap             # how it ended in the last step: 0, LAP_FINISHED or LEFT_THE_FIELD
    int32_t first           # the number of the track's first point in the curve
    int32_t tiles, retries, domain_randomize, unused
    uint8_t visited[MAX_TILES]
    uint8_t touched[MAX_TILES]


ctypedef struct quad_t:     # on the ground
    double x[4]
    double y[4]
    double middle_x, middle_y
    int tile                # which piece of road it is, or is the border of
    bint is_border


ctypedef struct texts_t:    # scores as text: -0, and all from the lowest to the highest one
    const uint8_t* shades   # [scores, height, width]
    const int32_t* widths   # [scores]
    int32_t lowest, highest, height, width


ctypedef struct scene_t:    # what the progress implies: the world is built again from it
    progress_t* progress
    lane_t* lane
    const texts_t* texts
    track_point_t curve[MAX_POINTS]
    body_t* tiles[MAX_TILES]
    quad_t quads[2 * MAX_TILES]
    int quad_count, tile_count


ctypedef struct car_t:
    lane_t lane
    progress_t progress
    scene_t scene


cdef inline void find_middle(quad_t* quad) noexcept nogil:
    quad.middle_x = (quad.x[0] + quad.x[1] + quad.x[2] + quad.x[3]) / 4
    quad.middle_y = (quad.y[0] + quad.y[1] + quad.y[2] + quad.y[3]) / 4
