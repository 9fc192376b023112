"""Capsules of C memory that a Python object owns."""
from cpython.pycapsule cimport PyCapsule_GetContext, PyCapsule_New, PyCapsule_SetContext
from cpython.ref cimport Py_DECREF, Py_INCREF


cdef inline void drop_owner(object capsule) noexcept:
    Py_DECREF(<object> PyCapsule_GetContext(capsule))


cdef inline object owned_capsule(void* pointer, const char* name, object owner):
    """Return a capsule that keeps the owner of the memory alive."""
    capsule = PyCapsule_New(pointer, name, drop_owner)
    PyCapsule_SetContext(capsule, <void*> owner)
    Py_INCREF(owner)
    return capsule
