"""The lane of CarRacing, which racing.pyx writes and picture.pyx draws."""
from libc.stdint cimport int32_t, int64_t, uint8_t

from gymcore_ext.box2d.structures cimport body_t
from gymcore_ext.box2d.worlds cimport world_lane_t


cdef enum:
    CHECKPOINTS = 12
    WHEELS = 4
    MARKS = 30         # number of stored marks of skidding wheels
    MARK_POINTS = 30   # maximum number of points of a mark
    MAX_TILES = 2504   # a track has about 300


ctypedef struct car_episode_t:
    double draws[CHECKPOINTS][2]  # members up to retries are drawn, or set when the episode begins
    double road_color[3]
    double bg_color[3]
    double grass_color[3]
    double lap_complete_percent
    int32_t first                 # index of the track's first point in the curve
    int32_t tiles
    int32_t domain_randomize, retries
    double reward, prev_reward, t, shown_reward, fuel_spent  # steps change these members and the following ones
    double gas[WHEELS]
    double brake[WHEELS]
    double steer[WHEELS]
    double phase[WHEELS]
    double omega[WHEELS]
    int64_t marks_made
    int64_t skid_mark[WHEELS]     # the mark that each wheel is making, counted from 1; or 0
    int32_t skid_points[WHEELS]   # number of points of that mark
    int32_t skid_on_grass[WHEELS]
    int32_t skid_begins[WHEELS]   # whether the wheel has skidded for one step
    int32_t wheel_tiles[WHEELS]   # number of tiles that the wheel is on
    int32_t mark_counts[MARKS]    # number of points of each mark
    int32_t mark_on_grass[MARKS]
    float marks[MARKS][MARK_POINTS][2]
    int32_t tile_visited_count, new_lap
    int32_t lap                   # how the last step ended the lap: LAP_FINISHED, LEFT_THE_FIELD, or 0 if it did not
    int32_t unused
    uint8_t visited[MAX_TILES]
    uint8_t touched[MAX_TILES]


ctypedef struct score_images_t:          # rendered scores: -0, then all from the lowest to the highest one
    const uint8_t* shades         # [scores, height, width]
    const int32_t* widths         # [scores]
    int32_t lowest, highest, height, width


ctypedef struct car_t:
    world_lane_t lane
    car_episode_t episode
    body_t* tiles[MAX_TILES]
    double roads[MAX_TILES][4][2]    # corners of the pieces of road
    double borders[MAX_TILES][4][2]  # corners of their borders, where they have one
    char has_border[MAX_TILES]
