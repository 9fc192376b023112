"""Memory for the arrays that compiled functions create, instead of Numba's atomic allocator.

No other thread sees the arrays of a lane, and none outlives the call that creates it. So most of
them are in memory that the next lane uses again, and their reference counting is inlined.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python, rtsys

from gymcore_ext.lanes.lane_memory import BLOCK, BLOCK_SIZE

llvm.add_symbol("gymcore_block", BLOCK)

# Numba's functions that are replaced, and others that the replacements call. The header of an array
# has 48 bytes: the count of references, destructor and its argument, the address of the data at
# byte 24, their size, and an allocator. In the block, the count is too large to become 0.
_NAMES = "NRT_MemInfo_alloc_aligned|NRT_incref|NRT_decref|NRT_MemInfo_alloc|NRT_MemInfo_call_dtor"
_LARGEST = 2048  # bytes of an array in the block
_FUNCTIONS = f"""
define internal void @NRT_incref(ptr %header) alwaysinline {{
  %none = icmp eq ptr %header, null
  br i1 %none, label %end, label %count
count:
  %old = load i64, ptr %header
  %new = add i64 %old, 1
  store i64 %new, ptr %header
  br label %end
end:
  ret void
}}
define internal void @NRT_decref(ptr %header) alwaysinline {{
  %none = icmp eq ptr %header, null
  br i1 %none, label %end, label %count
count:
  %old = load i64, ptr %header
  %new = sub i64 %old, 1
  store i64 %new, ptr %header
  %unused = icmp eq i64 %new, 0
  br i1 %unused, label %free, label %end
free:
  call void @NRT_MemInfo_call_dtor(ptr %header)
  br label %end
end:
  ret void
}}
define internal ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) alwaysinline {{
  %block = call ptr @gymcore_block()
  %used = load i64, ptr %block
  %with_header = add i64 %size, 63
  %bytes = and i64 %with_header, -16
  %end = add i64 %used, %bytes
  %is_small = icmp ule i64 %size, {_LARGEST}
  %is_inside = icmp ule i64 %end, {BLOCK_SIZE - 16}
  %fits = and i1 %is_small, %is_inside
  br i1 %fits, label %inside, label %outside
inside:
  store i64 %end, ptr %block
  %arrays = getelementptr i8, ptr %block, i64 16
  %header = getelementptr i8, ptr %arrays, i64 %used
  store <6 x i64> <i64 {1 << 62}, i64 0, i64 0, i64 0, i64 0, i64 0>, ptr %header, align 8
  br label %allocated
outside:
  %other = call ptr @NRT_MemInfo_alloc(i64 %size)
  br label %allocated
allocated:
  %result = phi ptr [ %header, %inside ], [ %other, %outside ]
  %data = getelementptr i8, ptr %result, i64 48
  %address = getelementptr i8, ptr %result, i64 24
  store ptr %data, ptr %address
  ret ptr %result
}}
declare noalias ptr @NRT_MemInfo_alloc(i64)
declare void @NRT_MemInfo_call_dtor(ptr)
"""
_NAME = r'[-\w.$]+|"[^"]+"'  # of a function


def start() -> None:
    """Start Numba's allocator, which provides the arrays that do not fit."""
    rtsys.initialize(cpu_target.target_context)  # also defines the symbols that code calls


@cache
def _knows_headers() -> bool:
    """Return whether headers of arrays are what this module writes: Numba may change them."""
    address = _nrt_python.meminfo_alloc(8)
    count, _, _, data = (ctypes.c_uint64 * 4).from_address(address)
    _nrt_python._MemInfo(address)  # frees it
    return count == 1 and data == address + 48


def start_lane(builder: ir.IRBuilder) -> None:
    """Generate the code that frees the memory of a lane for the next one."""
    used = ir.IntType(64)
    kind = ir.FunctionType(ir.PointerType(used), [])
    function = cgutils.get_or_insert_function(builder.module, kind, "gymcore_block")
    function.attributes.update(("readnone", "nounwind"))  # it is called once for many arrays
    builder.store(used(0), builder.call(function, []))


def with_lane_memory(library: Any, symbol: str, name: str) -> tuple[Any, str]:
    """Return the library of a loop with replaced functions, if possible, and the loop's symbol.

    All functions of the new library get names of their own: code that is loaded later would call
    them by the old names, although LLVM may have changed their arguments.
    """
    text = library.get_llvm_str()
    # No arrays, LLVM before version 15, or another Numba.
    if "ptr @NRT_MemInfo_alloc_aligned(" not in text or not _knows_headers():
        return library, symbol
    text = re.sub(rf"^define .*@({_NAMES})\((?s:.*?)^}}\n", "", text, flags=re.M)
    text = re.sub(rf"^declare .*@({_NAMES})\(.*\n", "", text, flags=re.M)
    text = re.sub(r"^define (linkonce_odr |internal )?", "define internal ", text, flags=re.M)
    text += _FUNCTIONS
    defined = set(re.findall(rf"^define .*?@({_NAME})\(", text, flags=re.M))

    def renamed(match: re.Match[str]) -> str:
        old = match[1]
        if old is None:
            return match[0]  # the bytes of a constant, which may contain "@"
        new = name if old == symbol else f"{name}.{old.strip(chr(34))}"
        return f'@"{new}"' if old in defined else match[0]

    text = re.sub(rf'"[^"]*"|@({_NAME})', renamed, text)
    text = re.sub(rf'^define internal (.*@"{name}"\()', r"define \1", text, flags=re.M)
    module = llvm.parse_assembly(text)
    module.name = name
    result = library.codegen.create_library(name)
    result.enable_object_caching()
    with global_compiler_lock:
        result.add_llvm_module(module)
        result.finalize()
    return result, name
