"""Build the environment: an ordinary Cython module that uses gymcore's headers."""

from Cython.Build import cythonize
from setuptools import Extension, setup

import gymcore_ext

docking = Extension(
    "docking",
    ["docking.pyx"],
    include_dirs=[gymcore_ext.get_include()],
    extra_compile_args=["-O3"],
)
setup(
    ext_modules=cythonize([docking], compiler_directives={"language_level": 3, "cdivision": True})
)
