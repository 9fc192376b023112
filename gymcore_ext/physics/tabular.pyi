# A PyCapsule with the kernel, for gymcore_ext.batch.Batch.
kernel: object
