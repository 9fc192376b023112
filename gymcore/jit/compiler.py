"""Compilation with Numba: argument types, the loops as C functions, and the cache of their code."""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, compiler
from numba.core.base import BaseContext
from numba.core.ccallback import CFunc
from numba.core.registry import cpu_target
from numba.core.typing import Context, Signature
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import (
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    type_callable,
)
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import as_dtype, from_dtype

from gymcore import error
from gymcore.jit import lane_memory, math
from gymcore.jit.code_files import Code, cached_file, read_code, write_code
from gymcore.jit.code_libraries import lazy_libraries
from gymcore.jit.compiled_numpy import (
    METHODS,
    OPERATORS,
    REPLACED,
    ROUNDS_SQUARES,
    copied,
    copy_items,
    flat,
    get_item,
    invert,
    outcome,
    power_in_place,
    set_item,
    unpack,
    uses_c_library,
    weak,
    wide,
)
from gymcore.jit.compiled_random import WITHOUT_WRAPPERS, Generated, Values, jitable, stream
from gymcore.jit.constants import as_constant, digest_of, is_foreign, uses_of
from gymcore.jit.declarations import (
    INTERPRETED_CALLS,
    Field,
    calls_itself,
    helpers_of,
    reachable,
    referenced_values,
    syntax_of,
)
from gymcore.jit.loops import Program, run_text, struct_class
from gymcore_ext.lanes.custom_kernel import RECORD_FAILURE_ADDRESS

# No fused operations.
_NUMBA_OPTIONS = {"error_model": "numpy"}


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
        self.shapes = {field.name: field.shape for field in fields if field.shape}
        super().__init__(name=f"{name}({self.members}, {self.shapes})")


@register_model(StructType)
class StructModel(models.PrimitiveModel):
    """Data model of a struct: a pointer to the members."""

    def __init__(self, manager: models.DataModelManager, struct: StructType) -> None:
        """Lay out the members: numbers, and the addresses of arrays."""
        members = [
            manager.lookup(kind.dtype).get_data_type().as_pointer()
            if isinstance(kind, types.Array)
            else manager.lookup(kind).get_value_type()
            for kind in struct.members.values()
        ]
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
    value = builder.load(_field_ptr(builder, pointer, struct, name))
    if name not in struct.shapes:
        return value
    lengths = [context.get_constant(types.intp, n) for n in struct.shapes[name]]
    return _array_at(context, builder, struct.members[name], value, lengths)


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
            if isinstance(kind, types.Array):
                value = context.make_array(kind)(context, builder, value).data
            else:
                value = context.cast(builder, value, kind, members[k])
            builder.store(value, field_ptr)
        return pointer

    return cls


# --- arrays -----------------------------------------------------------------------------------


def _array_at(
    context: BaseContext,
    builder: ir.IRBuilder,
    kind: types.Array,
    address: ir.Value,
    lengths: list[ir.Value],
) -> ir.Value:
    """Return the array at an address."""
    array = context.make_array(kind)(context, builder)
    size = context.get_constant(types.intp, as_dtype(kind.dtype).itemsize)
    strides = [size]
    for length in lengths[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    populate_array(
        array,
        data=builder.bitcast(address, array.data.type),
        shape=lengths,
        strides=strides,
        itemsize=size,
        meminfo=None,
    )
    return array._getvalue()


@intrinsic
def carray(
    typing_context: Context, address: types.Type, shape: types.Type, dtype: types.Type
) -> Generated:
    """Return the array at an address; `numba.carray` would need reference counting."""
    kind = types.Array(dtype.dtype, len(shape), "C")

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: Values
    ) -> ir.Value:
        lengths = cgutils.unpack_tuple(builder, args[1], kind.ndim)
        return _array_at(context, builder, kind, args[0], lengths)

    return kind(address, shape, dtype), generate


@intrinsic
def of_shape(typing_context: Context, array: types.Array, shape: types.Type) -> Generated:
    """Return an array with constants as its shape, with which LLVM leaves out checks of indices."""

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: Values
    ) -> ir.Value:
        lengths = cgutils.unpack_tuple(builder, args[1], array.ndim)
        address = context.make_array(array)(context, builder, args[0]).data
        return _array_at(context, builder, array, address, lengths)

    return array(array, shape), generate


llvm.add_symbol("gymcore_record_failure", RECORD_FAILURE_ADDRESS)


@intrinsic
def guarded(
    typing_context: Context, arrays: Any, lane: Any, loop: Any, function: Any, arguments: Any
) -> Generated:
    """Call a function. If it raises, record the exception for the lane, and return zeros."""
    called = function.get_call_type(typing_context, tuple(arguments), {})
    compiled = function.dispatcher.overloads[called.args]

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: Values
    ) -> ir.Value:
        context.add_linking_libs([compiled.library])
        values = [
            context.cast(builder, value, kind, wanted)
            for value, kind, wanted in zip(
                cgutils.unpack_tuple(builder, args[4]), arguments, called.args, strict=True
            )
        ]
        if context.enable_nrt:
            lane_memory.start_lane(builder)
        # If it was inlined, LLVM would take the arrays of two lanes for memory that is not shared.
        status, result = context.call_conv.call_function(
            builder,
            context.declare_function(builder.module, compiled.fndesc),
            called.return_type,
            called.args,
            values,
            attrs=["noinline"] * context.enable_nrt,
        )
        word, address = ir.IntType(64), ir.IntType(8).as_pointer()
        with builder.if_then(status.is_error, likely=False):
            info = builder.load(status.excinfoptr)
            failure = builder.load(cgutils.gep(builder, args[0], -1))
            kind = ir.FunctionType(ir.VoidType(), [address, word, word, address, word])
            record = cgutils.get_or_insert_function(builder.module, kind, "gymcore_record_failure")
            size = builder.sext(builder.extract_value(info, 1), word)
            pickled = builder.extract_value(info, 0)
            builder.call(record, [failure, args[1], args[2], pickled, size])
        return result

    return called.return_type(arrays, types.int64, types.int64, function, arguments), generate


# --- mathematics ----------------------------------------------------------------------------------


for _name in math.__all__:
    if isinstance(getattr(math, _name), FunctionType):
        jitable(getattr(math, _name))


# --- functions of a class, in the form that Numba compiles ----------------------------------------


# Types that NumPy's functions take, by the names that they have in the namespace of a function.
_TYPES = {"float": np.float64, "int": np.int64, "bool": np.bool_}
_OWN = "gymcore_jit_"  # begins the names that are added to functions, to tell them from users'


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    """Return the syntax of a call of a function that is added to the namespace."""
    called = ast.Name(f"{_OWN}{name}", ast.Load())
    return ast.copy_location(ast.Call(called, list(arguments), []), arguments[0])


def _possible_masks(tree: ast.AST) -> set[str]:
    """Return the names that may be arrays of bools: arguments, and results of operations."""
    values = (ast.Compare, ast.BinOp, ast.UnaryOp, ast.Call)
    assigned = (n for n in ast.walk(tree) if isinstance(n, ast.Assign))
    targets = (t for n in assigned if isinstance(n.value, values) for t in n.targets)
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    return names | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


class _Compilable(ast.NodeTransformer):
    """Changes a function to the form that Numba compiles with the results of the interpreter.

    Array elements and results of foreign functions are widened to 64 bits. Functions and operators
    that Numba computes otherwise are replaced, lists become tuples, the texts of exceptions become
    constants, and prints are removed.
    """

    def __init__(self, uses: dict[str, Any], arrays: bool, masks: set[str]) -> None:
        self._uses, self._arrays, self._masks = uses, arrays, masks
        self._num_names = 0

    def _operation(
        self, node: ast.expr, operation: ast.AST, left: ast.expr, right: ast.expr
    ) -> ast.expr:
        kind = type(operation)
        if kind in (ast.Pow, ast.MatMult) or (self._arrays and kind in OPERATORS):
            result = ast.copy_location(_call(kind.__name__, left, right), node)
            return _call("wide", result) if kind is ast.MatMult else result
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return self._operation(node, node.op, node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _call("Invert", node.operand) if isinstance(node.op, ast.Invert) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) > 1:
            return node
        return self._operation(node, node.ops[0], node.left, node.comparators[0])

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """Give a number the type of the array that it changes, which is read for this."""
        if isinstance(node.value, (ast.Name, ast.Attribute, ast.Subscript)):
            # NumPy copies an operand that overlaps the array which is changed.
            array = node.target.value if isinstance(node.target, ast.Subscript) else node.target
            if ast.unparse(array) in map(ast.unparse, ast.walk(node.value)):
                node.value = _call("copied", node.value)
        if not (self._arrays or isinstance(node.op, ast.Pow)):
            return self.generic_visit(node)
        has_calls = any(isinstance(part, ast.Call) for part in ast.walk(node))
        target: Any = node.target
        is_item = isinstance(target, ast.Subscript) and not has_calls
        if is_item and self._may_be_mask(target.slice):
            read = ast.parse(ast.unparse(node.target), mode="eval").body
            changed = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
            return self.visit_Assign(ast.copy_location(ast.Assign([node.target], changed), node))
        calls: list[ast.stmt] = []
        target = self._without_calls(node.target, calls)
        node.target = target
        read = ast.parse(ast.unparse(target), mode="eval").body
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow):
            is_element = isinstance(node.target, ast.Subscript)
            name = "Pow" if is_element else "PowerInPlace"
            value = _call(name, self.visit(read), node.value)
            return [*calls, ast.copy_location(ast.Assign([node.target], value), node)]
        node.value = _call("weak", node.value, read)
        return [*calls, node]

    def _without_calls(self, node: Any, calls: list[ast.stmt]) -> Any:
        """Return a target that can be evaluated twice; `calls` gets what is evaluated before."""
        if not any(isinstance(part, ast.Call) for part in ast.walk(node)):
            return node
        if not isinstance(node, (ast.Subscript, ast.Attribute, ast.Tuple, ast.Slice)):
            return self._named(node, calls)
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(node, field, [self._without_calls(part, calls) for part in value])
            elif isinstance(value, ast.expr):
                setattr(node, field, self._without_calls(value, calls))
        return node

    def _named(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """Return a name for a value; `before` gets its assignment."""
        name = f"{_OWN}value_{self._num_names}"
        self._num_names += 1
        assignment = ast.Assign([ast.Name(name, ast.Store())], self.visit(node))
        before.append(ast.copy_location(assignment, node))
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        """Unpack arrays, whose elements are widened, and copy arrays by element."""
        target: Any = node.targets[0]
        has_calls = any(isinstance(part, ast.Call) for part in ast.walk(node))
        if isinstance(target, ast.Subscript) and len(node.targets) == 1 and has_calls:
            before: list[ast.stmt] = []
            # Python computes the value first, which may change what the index depends on.
            node.value = self._named(node.value, before)
            node.targets = [target] = [self._without_calls(target, before)]
            return [*before, self._assignment(node, target)]
        return self._assignment(node, target)

    def _assignment(self, node: ast.Assign, target: Any) -> Any:
        self.generic_visit(node)
        if len(node.targets) == 1 and ast.unparse(target).endswith("[:]"):
            return ast.copy_location(ast.Expr(_call("copy", target.value, node.value)), node)
        if self._arrays and len(node.targets) == 1 and isinstance(target, ast.Subscript):
            index = _SliceCalls().visit(target.slice)
            return ast.copy_location(ast.Expr(_call("set", target.value, index, node.value)), node)
        is_unpacked = isinstance(target, ast.Tuple) and not isinstance(node.value, ast.Tuple)
        if not is_unpacked:
            return node
        node.value = _call("unpack", node.value, ast.Constant(len(target.elts)))
        parts = (part for part in ast.walk(target) if isinstance(part, ast.Name))
        names = [part.id for part in parts if isinstance(part.ctx, ast.Store)]
        return [
            node,
            *(
                ast.Assign([ast.Name(name, ast.Store())], _call("wide", ast.Name(name, ast.Load())))
                for name in names
            ),
        ]

    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(ast.Tuple(node.elts, node.ctx), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        is_call = self._arrays and self._may_be_mask(node.slice)
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return _call("wide", _call("get", node.value, node.slice) if is_call else node)

    def _may_be_mask(self, index: ast.expr) -> bool:
        """Return whether an index may be an array of bools."""
        if isinstance(index, ast.Name):
            return index.id in self._masks
        if isinstance(index, ast.BinOp):
            return isinstance(index.op, (ast.BitAnd, ast.BitOr, ast.BitXor))
        is_inverted = isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.Invert)
        return is_inverted or isinstance(index, (ast.Compare, ast.Attribute))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        is_flat = node.attr == "flat" and isinstance(node.ctx, ast.Load)
        return _call("flat", node.value) if is_flat else node

    def visit_Call(self, node: Any) -> ast.AST:
        name = ast.unparse(node.func)
        is_method = isinstance(node.func, ast.Attribute) and name not in self._uses
        self.generic_visit(node)
        node.args = list(map(self._argument, node.args))
        for keyword in node.keywords:
            keyword.value = self._argument(keyword.value)
        if is_method and node.func.attr in METHODS:
            node.args.insert(0, node.func.value)
            node.func = ast.copy_location(ast.Name(f"{_OWN}{node.func.attr}", ast.Load()), node)
        is_wide = name in ("max", "min") and name not in self._uses
        is_wide |= is_method or is_foreign(self._uses.get(name))
        return _call("wide", node) if is_wide else node

    def _argument(self, node: ast.expr) -> ast.expr:
        """Return an argument with a NumPy type instead of one of Python."""
        if not isinstance(node, ast.Name) or node.id not in _TYPES or node.id in self._uses:
            return node
        return ast.copy_location(ast.Name(f"{_OWN}{node.id}", ast.Load()), node)

    def visit_For(self, node: ast.For) -> ast.AST:
        """Widen the elements in an iteration over an array by reassigning the loop variables."""
        is_range = isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "range"
        self.generic_visit(node)
        if not is_range:
            names = [target for target in ast.walk(node.target) if isinstance(target, ast.Name)]
            values = [_call("wide", ast.Name(name.id, ast.Load())) for name in names]
            assigned = zip(names, values, strict=True)
            node.body[:0] = [
                ast.Assign([name], value, lineno=node.lineno) for name, value in assigned
            ]
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        exception = node.exc
        if isinstance(exception, ast.Call):
            exception.args, exception.keywords = list(map(_as_text, exception.args)), []
        return ast.copy_location(ast.Raise(exception, None), node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        node.test = self.visit(node.test)
        node.msg = node.msg and _as_text(node.msg)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        called = getattr(getattr(node.value, "func", None), "id", None)
        return (
            ast.copy_location(ast.Pass(), node)
            if called in INTERPRETED_CALLS
            else self.generic_visit(node)
        )


def _as_text(node: ast.expr) -> ast.expr:
    """Return an argument of an exception as a constant: its value, or its source text."""
    if isinstance(node, ast.Constant):
        return node
    if not isinstance(node, ast.JoinedStr):
        return ast.copy_location(ast.Constant(ast.unparse(node)), node)
    texts = (
        str(part.value)
        if isinstance(part, ast.Constant)
        else ast.unparse(ast.JoinedStr([part]))[2:-1]
        for part in node.values
    )
    return ast.copy_location(ast.Constant("".join(texts)), node)


class _SliceCalls(ast.NodeTransformer):
    """Replaces slices in an index, `a:b`, by `slice(a, b)`, which may be an argument."""

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        parts = node.lower, node.upper, *[node.step] * (node.step is not None)
        arguments = [part or ast.Constant(None) for part in parts]
        return ast.Call(ast.Name("slice", ast.Load()), arguments, [])


class _ReplaceModuleConstants(ast.NodeTransformer):
    """Replaces constants of modules, `module.NAME`, by names."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        name = self._names.get(ast.unparse(node))
        if name is None:
            return self.generic_visit(node)
        return ast.copy_location(ast.Name(name, ast.Load()), node)


def _compiled_as(value: Any) -> Any:
    """Return the value or function that stands for one in compiled code."""
    return REPLACED.get(value, value) if callable(value) else as_constant(value)


class _NoAliasCompiler(compiler.CompilerBase):
    """Compiles a function whose arguments share no memory, so that more of it is vectorized."""

    def define_pipelines(self) -> Any:
        """Return the default pipeline."""
        self.state.flags.noalias = True
        return [compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)]


class _Mode(NamedTuple):
    """How the functions of a class are compiled.

    Attributes:
        key: A part of their names.
        arrays: Whether they may create arrays, which are counted.
        checks: Whether indices are checked.
    """

    key: str
    arrays: bool
    checks: bool


def _compilable(
    function: FunctionType, mode: _Mode, compiled: dict[FunctionType, Any], first: str = ""
) -> Any:
    """Return a function as a Numba function, with the functions it calls.

    Args:
        function: A function of a class, or one that it calls.
        mode: How it is compiled.
        compiled: The Numba functions, to which it is added.
        first: A statement that comes before its own.
    """
    key, arrays, checks = mode
    if function in compiled:
        return compiled[function]
    tree = syntax_of(function)
    if tree is None:
        raise error.InvalidArgument(
            f"{function.__qualname__}: its source cannot be found, so it cannot be compiled; put "
            "it into a file or a notebook, or run it with debug=True"
        )
    uses = {name: value for node, name, value in uses_of(function) if node is not None}
    tree = _Compilable(uses, arrays, _possible_masks(tree)).visit(tree)
    builtins = {function.__name__: function for function in (abs, all, any, pow, round, sum)}
    values = {**builtins, **referenced_values(function)}
    namespace = {name: _compiled_as(value) for name, value in values.items()}
    added = {
        **_TYPES,
        **METHODS,
        **{node.__name__: stub for node, stub in OPERATORS.items()},
        **{"wide": wide, "weak": weak, "unpack": unpack, "copy": copy_items, "set": set_item},
        "get": get_item,
        **{"PowerInPlace": power_in_place, "Invert": invert, "copied": copied, "flat": flat},
        "of_shape": of_shape,
    }
    namespace.update((f"{_OWN}{name}", value) for name, value in added.items())
    constants = {
        name: f"{_OWN}constant_{name.replace('.', '_')}"
        for name, value in uses.items()
        if "." in name
        and (isinstance(value, (np.ndarray, np.generic, tuple)) or _compiled_as(value) is not value)
    }
    namespace.update((plain, _compiled_as(uses[name])) for name, plain in constants.items())
    tree = _ReplaceModuleConstants(constants).visit(tree)
    tree.name, tree.decorator_list, tree.returns = f"{function.__name__}_{key}", [], None
    tree.body[:0] = ast.parse(first).body
    for argument in tree.args.args:
        argument.annotation = None
    # Use the values of defaults, because the names in their expressions may have changed meaning.
    tree.args.defaults = [ast.Constant(None) for _ in tree.args.defaults]
    module = ast.fix_missing_locations(ast.Module([tree], []))
    exec(compile(module, function.__code__.co_filename, "exec"), namespace)
    namespace[tree.name].__defaults__ = as_constant(function.__defaults__)
    # Arguments of helpers may be overlapping parts of one array.
    pipeline = compiler.Compiler if compiled else _NoAliasCompiler
    options = {
        "forceinline": not arrays,
        "pipeline_class": pipeline,
        **_NUMBA_OPTIONS,
        **WITHOUT_WRAPPERS,
        "_nrt": arrays,
        "boundscheck": checks,
    }
    compiled[function] = result = numba.njit(namespace[tree.name], **options)
    for name, helper in helpers_of(function):
        namespace[name] = _compilable(helper, mode, compiled)
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
        path = cached_file(f"{key}.bin")
        saved = read_code(path)
        if saved is None:
            with lazy_libraries():
                saved = _compile(program, key)
            write_code(path, saved)
        context = cpu_target.target_context
        lane_memory.start()
        codegen = context.codegen()
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
    saved: Code = {}
    waiting = program.loops()
    for arrays in (False, True):
        namespace = _namespace(program, key, arrays)
        for name in [name for name in waiting if name not in saved]:
            try:
                saved[name] = _compiled(namespace[name], f"{name}_{key[:16]}", arrays, program)
            except Exception as problem:  # Numba raises errors of its own, and those of Python
                if arrays:
                    if isinstance(problem, error.Error):
                        raise
                    # Numba's long message stays available as the error's `__context__`.
                    raise error.InvalidArgument(_short_error(str(problem), program)) from None
    return saved


def _compiled(loop: FunctionType, name: str, arrays: bool, program: Program) -> tuple[Any, str]:
    """Return code and symbol of a loop."""
    loop.__name__ = loop.__qualname__ = name
    signature = _LOOP_SIGNATURE.args, _LOOP_SIGNATURE.return_type
    # Not `numba.cfunc`, which also asks for an address, and so for machine code.
    function: Any = CFunc(loop, signature, {}, {**_NUMBA_OPTIONS, "_nrt": arrays})
    result = function._compile_uncached()
    library, symbol = result.library, result.fndesc.llvm_cfunc_wrapper_name
    library.finalize()  # links and optimizes
    if ".numba.unresolved$" in library.get_llvm_str():  # its machine code would end the process
        recursive = [
            f"{used.__code__.co_filename}:{used.__code__.co_firstlineno}: {used.__qualname__}"
            for function in program.functions.values()
            for used in reachable(function)
            if calls_itself(used)
        ]
        raise error.InvalidArgument(
            f"{recursive[0] if recursive else program.name}: a function that calls itself cannot "
            "be compiled, unless LLVM makes a loop of it; write a loop, or run it with debug=True"
        )
    if arrays:
        library, symbol = lane_memory.with_lane_memory(library, symbol, f"{name}_loop")
    return library.serialize_using_object_code(), symbol


def _namespace(program: Program, key: str, arrays: bool) -> dict[str, Any]:
    """Return the loops of functions that create arrays, which are counted, or of others.

    Without reference counts, more loops are vectorized. With them, inlining all functions would
    take minutes.
    """
    options = {**_NUMBA_OPTIONS, **WITHOUT_WRAPPERS, "_nrt": arrays}
    short_key = key[:16]
    namespace = {
        **program.names(),
        "carray": carray,
        "stream": stream,
        "outcome": outcome,
        "guarded": guarded,
        "State": struct_constructor("State", program.state),
        "Info": struct_constructor("Info", program.infos),
        "__name__": f"gymcore_jit_{short_key}",
    }
    mode = _Mode(short_key, arrays, program.check_indices)
    for name, function in program.functions.items():
        first = ""
        if name == "observe" and program.layout[0] == "array":
            argument = [*inspect.signature(function).parameters][-1]
            (part,) = program.parts()
            first = f"{argument} = {_OWN}of_shape({argument}, {part.shape})"
        namespace[f"{name}_lane"] = _compilable(function, mode, {}, first)
    run_text(program.source(guards=arrays or mode.checks), program.name, namespace)
    # Columns, outputs and actions share no memory. Without this knowledge, LLVM compares their
    # addresses before it runs vector code, and does not vectorize a loop that needs more than
    # eight comparisons.
    namespace["step_arrays"].__name__ = f"step_arrays_{short_key}"
    namespace["step_arrays"] = numba.njit(
        namespace["step_arrays"], forceinline=not arrays, pipeline_class=_NoAliasCompiler, **options
    )
    return namespace


# Of Numba's messages: what is before the error of a called function, and lines without a reason.
_INSIDE = "raised a specific error:"
_TITLES = ("Failed in", "- Res", "TypingError: Failed in")


def _short_error(text: str, program: Program) -> str:
    """Extract the place in the class's functions and the reason from Numba's long message."""
    functions = [used for f in program.functions.values() for used in reachable(f)]
    files = "|".join({re.escape(used.__code__.co_filename) for used in functions})
    location = re.search(rf" at ({files}) \((\d+)\)", text)
    title = f"{location[1]}:{location[2]}: {program.name}" if location else program.name
    text = text.rpartition(_INSIDE)[2] if "<intrinsic guarded>" in text else text
    lines = (re.sub(r"\x1b\[\d*m", "", line).strip() for line in text.splitlines())
    lines = (line for line in lines if line and not line.startswith(_TITLES))
    reason = next(lines, "Numba reports no reason")
    call = next((line[4:] for line in lines if line.startswith(">>> ")), "")
    return f"{title} cannot be compiled: {reason:.200}{f' {call:.100}' * reason.endswith(':')}"


@cache
def _machine() -> bytes:
    """Return the inputs of compiled code besides the class: versions, CPU and this package."""
    versions = numba.__version__, llvmlite.__version__, np.__version__, sys.version
    cpu = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    libraries = ROUNDS_SQUARES, uses_c_library(np.cos), uses_c_library(np.sin)
    files = sorted(Path(__file__).parent.glob("*.py"))
    return repr((versions, cpu, libraries)).encode() + b"".join(file.read_bytes() for file in files)


def _key_of(program: Program) -> str:
    """Return the cache key: a digest of the class, the values it uses, and the machine."""
    digest = hashlib.sha256(_machine())
    checks = program.check_indices, numba.config.BOUNDSCHECK  # of Numba: of all code
    digest.update(repr(checks).encode())
    digest.update(program.source().encode())
    for name, function in program.functions.items():
        digest.update(name.encode() + digest_of(function))
    return digest.hexdigest()
