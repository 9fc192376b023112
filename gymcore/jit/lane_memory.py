"""Memory for the arrays that compiled functions create, instead of Numba's atomic allocator.

No other thread sees the arrays of a lane, and none outlives the call that creates it. So most of
them are in memory that the next lane uses again, and their counts of references are inlined.
"""

from __future__ import annotations

import re
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from gymcore_ext.lanes.lane_memory import ALLOCATE, START_LANE, use_other

llvm.add_symbol("gymcore_allocate", ALLOCATE)
llvm.add_symbol("gymcore_start_lane", START_LANE)

# Numba's functions that are replaced. The header of an array has 48 bytes: the count, destructor
# and its argument, the address of the data at byte 24, their size, and an allocator.
_NAMES = "NRT_MemInfo_alloc_aligned|NRT_incref|NRT_decref"
_FUNCTIONS = """
define internal void @NRT_incref(ptr %header) alwaysinline {
  %none = icmp eq ptr %header, null
  br i1 %none, label %end, label %count
count:
  %old = load i64, ptr %header
  %new = add i64 %old, 1
  store i64 %new, ptr %header
  br label %end
end:
  ret void
}
define internal void @NRT_decref(ptr %header) alwaysinline {
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
}
define internal ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) alwaysinline {
  %with_header = add i64 %size, 63
  %bytes = and i64 %with_header, -16
  %header = call ptr @gymcore_allocate(i64 %bytes)
  %data = getelementptr i8, ptr %header, i64 48
  %address = getelementptr i8, ptr %header, i64 24
  store ptr %data, ptr %address
  ret ptr %header
}
declare noalias ptr @gymcore_allocate(i64) nounwind willreturn
    memory(inaccessiblemem: readwrite) allockind("alloc") allocsize(0)
"""
_DESTRUCTOR = "declare void @NRT_MemInfo_call_dtor(ptr)"


def start() -> None:
    """Start Numba's allocator, which provides the arrays that do not fit."""
    rtsys.initialize(cpu_target.target_context)  # also defines the symbols that code calls
    use_other(llvm.address_of_symbol("NRT_MemInfo_alloc"))


def start_lane(builder: ir.IRBuilder) -> None:
    """Generate the call that frees the memory of a lane for the next one."""
    kind = ir.FunctionType(ir.VoidType(), [])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, "gymcore_start_lane"), [])


def with_lane_memory(library: Any, symbol: str, name: str) -> tuple[Any, str]:
    """Return the library of a loop with replaced functions, and the loop's new symbol.

    The names of the old library must not be found instead of those of the new one.
    """
    text = library.get_llvm_str()
    if "ptr @NRT_MemInfo_alloc_aligned(" not in text:  # no arrays, or LLVM before version 15
        return library, symbol
    text = re.sub(rf"^define .*@({_NAMES})\((?s:.*?)^}}\n", "", text, flags=re.M)
    text = re.sub(rf"^declare .*@({_NAMES})\(.*\n", "", text, flags=re.M)
    text = re.sub(r"^define (linkonce_odr )?", "define internal ", text, flags=re.M)
    text = text.replace(f"@{symbol}(", f"@{name}(") + _FUNCTIONS
    text = re.sub(rf"^define internal (.*@{name}\()", r"define \1", text, flags=re.M)
    module = llvm.parse_assembly(text if _DESTRUCTOR in text else text + _DESTRUCTOR)
    module.name = name
    result = library.codegen.create_library(name)
    result.enable_object_caching()
    with global_compiler_lock:
        result.add_llvm_module(module)
        result.finalize()
    return result, name
