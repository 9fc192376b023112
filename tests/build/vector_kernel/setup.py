"""Build the kernel: an ordinary Cython module that includes gymcore's headers."""

from Cython.Build import cythonize
from setuptools import Extension, setup

import gymcore_ext

kernel = Extension(
    "docking.kernel",
    ["docking/kernel.pyx"],
    include_dirs=[gymcore_ext.get_include()],
    extra_compile_args=["-O3"],
)

DIRECTIVES = {"language_level": 3, "cdivision": True}
setup(packages=["docking"], ext_modules=cythonize([kernel], compiler_directives=DIRECTIVES))
