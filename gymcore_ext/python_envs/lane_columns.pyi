# For other Cython modules: see lane_columns.pxd.
