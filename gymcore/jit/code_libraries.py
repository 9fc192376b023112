"""Libraries of functions without machine code, until it is needed.

Numba generates machine code for each function that it compiles. A loop contains all functions that
it calls, so only the code of the loop itself is needed, and that of functions that Python calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

__all__ = ["lazy_libraries"]


class LazyLibrary(JITCodeLibrary):
    """A library whose machine code is generated when it is asked for."""

    _has_code = False

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def _generate(self) -> None:
        if not self._has_code:
            self._has_code = True
            super()._finalize_final_module()

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of a function that Python calls; 0 if there is none of this name."""
        self._ensure_finalized()
        names = (function.name for function in self.get_defined_functions())
        if name not in names:
            return 0
        self._generate()
        return int(super().get_pointer_to_function(name))

    def serialize_using_object_code(self) -> Any:
        """Return the library with its machine code."""
        self._ensure_finalized()
        self._generate()
        return super().serialize_using_object_code()


@contextmanager
def lazy_libraries() -> Iterator[None]:
    """Let Numba create lazy libraries in a block."""
    codegen = cpu_target.target_context.codegen()
    set_env = codegen.set_env

    def set_env_of_code(name: str, env: object) -> None:
        if codegen._engine.get_global_value_address(name):
            set_env(name, env)

    with global_compiler_lock:
        codegen._library_class, codegen.set_env = LazyLibrary, set_env_of_code
        try:
            yield
        finally:
            del codegen._library_class, codegen.set_env
