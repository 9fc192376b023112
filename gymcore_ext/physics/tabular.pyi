# A PyCapsule with the kernel, for gymcore_ext.engine.batch.Batch.
kernel: object
