# Everything here is for other Cython modules: see actions.pxd.
