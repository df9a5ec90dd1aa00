// The definition of every op of op_list.def. A listed op without a definition is a link error.
#pragma once

#include "graph/op_def.h"

namespace hearth::defs {

#define HEARTH_DECLARE_OP(name) extern const OpDef name##_op;
#define UNARY(name) HEARTH_DECLARE_OP(name)
#define BINARY(name) HEARTH_DECLARE_OP(name)
#define COMPARISON(name) HEARTH_DECLARE_OP(name)
#define LOGICAL(name) HEARTH_DECLARE_OP(name)
#define TERNARY(name) HEARTH_DECLARE_OP(name)
#define PREDICATE(name) HEARTH_DECLARE_OP(name)
#define REDUCTION(name) HEARTH_DECLARE_OP(name)
#define OP(name) HEARTH_DECLARE_OP(name)
#include "ops/op_list.def"
#undef HEARTH_DECLARE_OP

}  // namespace hearth::defs

namespace hearth {

// All ops: those of op_list.def, then those registered at run time. Thread-safe.
std::vector<const OpDef*> all_ops();
const OpDef* find_op(std::string_view name);  // null if there is none
// Makes a user op known by its name. It must live as long as the process. Throws
// Error{invalid_argument} when the name is taken.
void register_op(const OpDef* op);

}  // namespace hearth
