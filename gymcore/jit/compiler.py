"""Compilation with Numba: argument types, the loops as C functions, and the cache of their code."""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, compiler
from numba.core.base import BaseContext
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target
from numba.core.typing import Context, Signature
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import (
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    overload,
    overload_method,
    register_jitable,
    register_model,
    type_callable,
)
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import as_dtype, from_dtype

from gymcore import error
from gymcore.jit import math
from gymcore.jit.code_files import Code, read_code, write_code
from gymcore.jit.constants import computed_with, digest_of, is_foreign, uses_of
from gymcore.jit.declarations import (
    INTERPRETED_CALLS,
    Field,
    helpers_of,
    names_of,
    reachable,
    syntax_of,
)
from gymcore.jit.loops import Program, run_text, struct_class
from gymcore_ext.lanes.draws import DRAWS

# No allocation, exceptions or fused operations; functions are inlined into the loop.
_NUMBA_OPTIONS = {"error_model": "numpy", "_nrt": False}


Values = Sequence[ir.Value]
# The signature of an intrinsic, and the function that generates its code.
Generated = tuple[Signature, Callable[..., ir.Value]]
Overload = Callable[..., object]
Implementation = TypeVar("Implementation", bound=Callable[..., object])


# --- State and Info: a struct on the stack, passed to functions as a pointer ----------------------


class StructType(types.Type):
    """Type of the state or the infos of a lane; scalar fields are float64, int64 or bool."""

    def __init__(self, name: str, fields: tuple[Field, ...]) -> None:
        """Set the type of each field."""
        kinds = {float: types.float64, int: types.int64, bool: types.boolean}
        self.members = {
            field.name: types.Array(from_dtype(field.dtype), len(field.shape), "C")
            if field.shape
            else kinds[field.python_type]
            for field in fields
        }
        super().__init__(name=f"{name}({self.members})")


@register_model(StructType)
class StructModel(models.PrimitiveModel):
    """Data model of a struct: a pointer to the members."""

    def __init__(self, manager: models.DataModelManager, struct: StructType) -> None:
        """Lay out the members."""
        members = [manager.lookup(kind).get_value_type() for kind in struct.members.values()]
        super().__init__(manager, struct, ir.LiteralStructType(members).as_pointer())


@infer_getattr
class StructAttributes(AttributeTemplate):
    """Typing of the fields of a struct."""

    key = StructType

    def generic_resolve(self, struct: StructType, name: str) -> Any:
        """Return the type of a field."""
        return struct.members.get(name)


def _field_ptr(builder: ir.IRBuilder, pointer: ir.Value, struct: StructType, name: str) -> ir.Value:
    return cgutils.gep_inbounds(builder, pointer, 0, list(struct.members).index(name))


@lower_getattr_generic(StructType)
def _get_field(
    context: BaseContext, builder: ir.IRBuilder, struct: StructType, pointer: ir.Value, name: str
) -> ir.Value:
    return builder.load(_field_ptr(builder, pointer, struct, name))


@lower_setattr_generic(StructType)
def _set_field(context: Any, builder: Any, signature: Any, args: Any, name: str) -> Any:
    builder.store(args[1], _field_ptr(builder, args[0], signature.args[0], name))


def struct_constructor(name: str, fields: tuple[Field, ...]) -> type:
    """Return a class that compiled code can call to create a struct on the stack."""
    cls, struct = struct_class(name, fields), StructType(name, fields)

    @type_callable(cls)
    def construct(context: Context) -> Callable[..., StructType]:
        def typer(*args: types.Type) -> StructType:
            return struct

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        arguments = [inspect.Parameter(name, kind) for name in struct.members]
        typer.__dict__["__signature__"] = inspect.Signature(arguments)
        return typer

    @lower_builtin(cls, types.VarArg(types.Any))
    def lower(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: Values
    ) -> ir.Value:
        model = context.data_model_manager.lookup(struct)
        pointer = cgutils.alloca_once(builder, model.get_value_type().pointee)
        members = list(struct.members.values())
        for k, (value, kind) in enumerate(zip(args, signature.args, strict=True)):
            field_ptr = cgutils.gep_inbounds(builder, pointer, 0, k)
            builder.store(context.cast(builder, value, kind, members[k]), field_ptr)
        return pointer

    return cls


# --- random numbers: functions of the engine that draw from the stream of a lane ------------------


class StreamType(types.Type):
    """Type of `rng`: a pointer to the words of a lane's stream."""

    def __init__(self) -> None:
        """Set the name of the type."""
        super().__init__(name="LaneRandom")


_stream_type = StreamType()


@register_model(StreamType)
class StreamModel(models.PrimitiveModel):
    """Data model of a stream: an untyped pointer."""

    def __init__(self, manager: models.DataModelManager, stream: StreamType) -> None:
        """Set the data representation."""
        super().__init__(manager, stream, ir.IntType(8).as_pointer())


@intrinsic
def stream(typing_context: Context, rngs: types.Type, lane: types.Type) -> Generated:
    """Return the stream of a lane from an array uint64 [lanes, 5]."""

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: Values
    ) -> ir.Value:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        words = builder.mul(args[1], ir.Constant(args[1].type, 5))
        return builder.bitcast(builder.gep(array.data, [words]), ir.IntType(8).as_pointer())

    return _stream_type(rngs, types.int64), generate


@intrinsic
def carray(
    typing_context: Context, address: types.Type, shape: types.Type, dtype: types.Type
) -> Generated:
    """Return the array at an address; `numba.carray` would need reference counting."""
    kind = types.Array(dtype.dtype, len(shape), "C")

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: Values
    ) -> ir.Value:
        array = context.make_array(kind)(context, builder)
        size = context.get_constant(types.intp, as_dtype(kind.dtype).itemsize)
        lengths, strides = cgutils.unpack_tuple(builder, args[1], kind.ndim), [size]
        for length in lengths[:0:-1]:
            strides.insert(0, builder.mul(strides[0], length))
        populate_array(
            array,
            data=builder.bitcast(args[0], array.data.type),
            shape=lengths,
            strides=strides,
            itemsize=size,
            meminfo=None,
        )
        return array._getvalue()

    return kind(address, shape, dtype), generate


@intrinsic
def _pointer(typing_context: Context, rng: types.Type) -> Generated:
    return types.voidptr(rng), lambda context, builder, signature, args: args[0]


for _name, _address in DRAWS.items():
    llvm.add_symbol(_name, _address)
_draw_random = types.ExternalFunction("gymcore_draw_random", types.float64(types.voidptr))
_draw_normal = types.ExternalFunction("gymcore_draw_normal", types.float64(types.voidptr))
_draw_integer = types.ExternalFunction(
    "gymcore_draw_integer", types.int64(types.voidptr, types.int64, types.int64)
)


def _without_annotations(function: Implementation) -> Implementation:
    """Remove the annotations, which Numba would compare with those of the implementation."""
    function.__annotations__ = {}
    return function


@overload_method(StreamType, "random")
@_without_annotations
def _random(rng: types.Type) -> Overload:
    return lambda rng: _draw_random(_pointer(rng))


@overload_method(StreamType, "uniform")
@_without_annotations
def _uniform(rng: types.Type, low: Any = 0.0, high: Any = 1.0) -> Overload:
    return lambda rng, low=0.0, high=1.0: low + (high - low) * _draw_random(_pointer(rng))


@overload_method(StreamType, "normal")
@_without_annotations
def _normal(rng: types.Type, loc: Any = 0.0, scale: Any = 1.0) -> Overload:
    return lambda rng, loc=0.0, scale=1.0: loc + scale * _draw_normal(_pointer(rng))


@overload_method(StreamType, "integers")
@_without_annotations
def _integers(rng: types.Type, low: types.Type, high: types.Type | None = None) -> Overload:
    if high is None or isinstance(high, (types.NoneType, types.Omitted)):
        return lambda rng, low, high=None: _draw_integer(_pointer(rng), 0, low)
    return lambda rng, low, high=None: _draw_integer(_pointer(rng), low, high)


@overload_method(StreamType, "choice")
@_without_annotations
def _choice(rng: types.Type, options: types.Type) -> Overload:
    if isinstance(options, types.Integer):
        return lambda rng, options: _draw_integer(_pointer(rng), 0, options)
    return lambda rng, options: options[_draw_integer(_pointer(rng), 0, len(options))]


# --- mathematics ----------------------------------------------------------------------------------


for _name in math.__all__:
    if isinstance(getattr(math, _name), FunctionType):
        register_jitable(getattr(math, _name))


def wide(x: Any) -> Any:
    """Return an element of an array as a number of the type that Python computes with."""
    return x


@overload(wide)
@_without_annotations
def _wide(x: types.Type) -> Overload:
    if isinstance(x, types.Float):
        return lambda x: np.float64(x)
    if isinstance(x, types.Integer):
        return lambda x: np.int64(x)
    return lambda x: x


def outcome(result: Any) -> Any:
    """Return the reward, and the sum of the flags 1 (terminated) and 2 (truncated)."""


@overload(outcome)
@_without_annotations
def _outcome(result: types.BaseTuple) -> Overload:
    if len(result) == 2:
        return lambda result: (result[0], result[1])
    return lambda result: (result[0], int(bool(result[1])) | int(bool(result[2])) << 1)


# --- functions of a class, in the form that Numba compiles ----------------------------------------


def _widened(node: ast.expr) -> ast.Call:
    name = ast.copy_location(ast.Name("_wide", ast.Load()), node)
    return ast.copy_location(ast.Call(name, [node], []), node)


class _WidenTo64Bits(ast.NodeTransformer):
    """Widens array elements and results of foreign functions to 64 bits, and removes prints."""

    def __init__(self, uses: dict[str, Any]) -> None:
        self._uses = uses

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        return _widened(node) if isinstance(node.ctx, ast.Load) else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = ast.unparse(node.func)
        self.generic_visit(node)
        is_method = isinstance(node.func, ast.Attribute) and name not in self._uses
        return _widened(node) if is_method or is_foreign(self._uses.get(name)) else node

    def visit_For(self, node: ast.For) -> ast.AST:
        """Widen the elements in an iteration over an array by reassigning the loop variables."""
        self.generic_visit(node)
        if not (isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "range"):
            names = [target for target in ast.walk(node.target) if isinstance(target, ast.Name)]
            values = [_widened(ast.Name(name.id, ast.Load())) for name in names]
            assigned = zip(names, values, strict=True)
            node.body[:0] = [
                ast.Assign([name], value, lineno=node.lineno) for name, value in assigned
            ]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        called = getattr(getattr(node.value, "func", None), "id", None)
        return (
            ast.copy_location(ast.Pass(), node)
            if called in INTERPRETED_CALLS
            else self.generic_visit(node)
        )


class _ReplaceModuleConstants(ast.NodeTransformer):
    """Replaces constants of modules, `module.NAME`, by names."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        name = self._names.get(ast.unparse(node))
        if name is None:
            return self.generic_visit(node)
        return ast.copy_location(ast.Name(name, ast.Load()), node)


class _NoAliasCompiler(compiler.CompilerBase):
    """Compiles a function whose arguments share no memory, so that more of it is vectorized."""

    def define_pipelines(self) -> Any:
        """Return the default pipeline."""
        self.state.flags.noalias = True
        return [compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)]


def _compilable(function: FunctionType, key: str, compiled: dict[FunctionType, Any]) -> Any:
    """Return a function as a Numba function, with the functions it calls; names include the key."""
    if function in compiled:
        return compiled[function]
    tree = syntax_of(function)
    if tree is None:
        raise error.InvalidArgument(
            f"{function.__qualname__}: its source cannot be found, so it cannot be compiled; put "
            "it into a file or a notebook, or run it with debug=True"
        )
    uses = {name: value for node, name, value in uses_of(function) if node is not None}
    tree = _WidenTo64Bits(uses).visit(tree)
    namespace = {name: computed_with(value) for name, value in names_of(function).items()}
    namespace["_wide"] = wide
    constants = {
        name: f"_constant_{name.replace('.', '_')}"
        for name, value in uses.items()
        if "." in name and isinstance(value, (np.ndarray, np.generic, tuple))
    }
    namespace.update((plain, computed_with(uses[name])) for name, plain in constants.items())
    tree = _ReplaceModuleConstants(constants).visit(tree)
    tree.name, tree.decorator_list, tree.returns = f"{function.__name__}_{key}", [], None
    for argument in tree.args.args:
        argument.annotation = None
    # Use the values of defaults, because the names in their expressions may have changed meaning.
    tree.args.defaults = [ast.Constant(None) for _ in tree.args.defaults]
    module = ast.fix_missing_locations(ast.Module([tree], []))
    exec(compile(module, function.__code__.co_filename, "exec"), namespace)
    namespace[tree.name].__defaults__ = computed_with(function.__defaults__)
    # Arguments of helpers may be overlapping parts of one array.
    pipeline = compiler.Compiler if compiled else _NoAliasCompiler
    options = {"forceinline": True, "pipeline_class": pipeline, **_NUMBA_OPTIONS}
    compiled[function] = result = numba.njit(namespace[tree.name], **options)
    for name, helper in helpers_of(function):
        namespace[name] = _compilable(helper, key, compiled)
    return result


# --- compiling, and the cache ---------------------------------------------------------------------

# Lanes are unsigned, because access with an index that may be negative has no constant stride.
_LOOP_SIGNATURE = types.void(types.CPointer(types.voidptr), *(types.uint64,) * 4)


class CompiledLoops:
    """The loops of a program as C functions.

    Attributes:
        addresses: Addresses of the functions, by name; valid as long as this object exists.
    """

    def __init__(self, program: Program) -> None:
        """Load the code from the cache, or compile it."""
        key = _key_of(program)
        path = _cached_file(key)
        saved = read_code(path)
        if saved is None:
            saved = _compile(program, key)
            write_code(path, saved)
        codegen = cpu_target.target_context.codegen()
        self._libraries = {
            name: (codegen.unserialize_library(library), symbol)
            for name, (library, symbol) in saved.items()
        }
        self.addresses = {
            name: library.get_pointer_to_function(symbol)
            for name, (library, symbol) in self._libraries.items()
        }


def _compile(program: Program, key: str) -> Code:
    """Return code and symbol of each loop."""
    short_key = key[:16]
    namespace = {
        **program.names(),
        "carray": carray,
        "stream": stream,
        "outcome": outcome,
        "State": struct_constructor("State", program.state),
        "Info": struct_constructor("Info", program.infos),
        "__name__": f"gymcore_jit_{short_key}",
    }
    saved: Code = {}
    try:
        for name, function in program.functions.items():
            namespace[f"{name}_lane"] = _compilable(function, short_key, {})
        run_text(program.source(), program.name, namespace)
        # Columns, outputs and actions share no memory. Without this knowledge, LLVM compares their
        # addresses before it runs vector code, and does not vectorize a loop that needs more than
        # eight comparisons.
        namespace["step_arrays"].__name__ = f"step_arrays_{short_key}"
        namespace["step_arrays"] = numba.njit(
            namespace["step_arrays"],
            forceinline=True,
            pipeline_class=_NoAliasCompiler,
            **_NUMBA_OPTIONS,
        )
        for name in program.loops():
            loop = namespace[name]
            loop.__name__ = loop.__qualname__ = f"{name}_{short_key}"
            function = numba.cfunc(_LOOP_SIGNATURE, **_NUMBA_OPTIONS)(loop)
            library = function._library.serialize_using_object_code()
            saved[name] = library, function.native_name
    except NumbaError as problem:
        # Numba's long message is not shown; it stays available as the error's `__context__`.
        raise error.InvalidArgument(_short_error(str(problem), program)) from None
    return saved


def _short_error(text: str, program: Program) -> str:
    """Extract the place in the class's functions and the reason from Numba's long message."""
    functions = [used for f in program.functions.values() for used in reachable(f)]
    files = "|".join({re.escape(used.__code__.co_filename) for used in functions})
    location = re.search(rf" at ({files}) \((\d+)\)", text)
    title = f"{location[1]}:{location[2]}: {program.name}" if location else program.name
    if "NRT required" in text or "Only accept returning of array passed" in text:
        return f"{title} cannot be compiled: functions cannot create arrays; write to each element"
    lines = (line.strip() for line in text.splitlines())
    reason = next(line for line in lines if line and not line.startswith(("Failed in", "- Res")))
    return f"{title} cannot be compiled: {reason:.200}"


def _cached_file(key: str) -> Path:
    """Return the file of compiled code, in `GYMCORE_CACHE_DIR` or a folder of the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("GYMCORE_CACHE_DIR") or cache / "gymcore" / "jit") / f"{key}.bin"


@cache
def _machine() -> bytes:
    """Return what compiled code depends on besides the class: versions, CPU and this package."""
    versions = numba.__version__, llvmlite.__version__, np.__version__, sys.version
    cpu = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    files = sorted(Path(__file__).parent.glob("*.py"))
    return repr((versions, cpu)).encode() + b"".join(file.read_bytes() for file in files)


def _key_of(program: Program) -> str:
    """Return the cache key: a digest of the class, the values it uses, and the machine."""
    digest = hashlib.sha256(_machine())
    digest.update(str(numba.config.BOUNDSCHECK).encode())  # changes whether code checks indices
    digest.update(program.source().encode())
    for name, function in program.functions.items():
        digest.update(name.encode() + digest_of(function))
    return digest.hexdigest()
