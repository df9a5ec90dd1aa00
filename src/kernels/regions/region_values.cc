#include "kernels/regions/region_values.h"

#include <limits>
#include <string_view>
#include <unordered_map>

#include "codegen/text_builder.h"
#include "graph/op_def.h"
#include "hearth/error.h"

namespace hearth::gpu {
namespace {

enum class Form : std::uint8_t { unary, binary, comparison, logical, ternary, cast };

const Form* form_of(const char* name) {
  static const auto* const forms = [] {
    auto* map = new std::unordered_map<std::string, Form>;
#define UNARY(name) map->emplace(#name, Form::unary);
#define BINARY(name) map->emplace(#name, Form::binary);
#define COMPARISON(name) map->emplace(#name, Form::comparison);
#define LOGICAL(name) map->emplace(#name, Form::logical);
#define TERNARY(name) map->emplace(#name, Form::ternary);
#include "ops/op_list.def"
    map->emplace("logical_not", Form::logical);
    map->emplace("is_nan", Form::comparison);
    map->emplace("cast", Form::cast);
    return map;
  }();
  const auto found = forms->find(name);
  return found == forms->end() ? nullptr : &found->second;
}

bool may_leave_range(std::string_view op) {
  for (const char* name : {"neg", "abs", "square", "add", "sub", "mul", "div", "pow"}) {
    if (op == name) return true;
  }
  return false;
}

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }
bool is_narrow_int(DType dtype) {
  return is_int(dtype) && dtype != DType::i64 && dtype != DType::u64 && dtype != DType::i32;
}
// Every value of `from` is one of `to`; both integers.
bool holds(DType to, DType from) {
  const bool signed_to = info(to).is_signed;
  const bool signed_from = info(from).is_signed;
  if (signed_from && !signed_to) return false;
  return signed_from == signed_to ? size_of(to) >= size_of(from) : size_of(to) > size_of(from);
}
bool same_class(DType a, DType b) {
  return std::string_view(value_type(a)) == std::string_view(value_type(b));
}

// To the dtype and back: wraps integers, rounds floats.
std::string narrowed(const std::string& x, DType dtype) {
  const char* const name = dtype_struct(dtype);
  return joined(name, "::load(", name, "::store(", x, "))");
}

// The least and the greatest integer of a dtype, as expressions of its class.
std::string extreme(DType dtype, bool greatest) {
  switch (dtype) {
    case DType::i64:
      return greatest ? "long(~(ulong(1) << 63))" : "long(ulong(1) << 63)";
    case DType::u64:
      return greatest ? "~ulong(0)" : "ulong(0)";
    case DType::u32:
      return greatest ? "long(4294967295u)" : "long(0)";
    case DType::i32:
      return greatest ? "2147483647" : "(-2147483647 - 1)";
    case DType::bool_:
      return greatest ? "1" : "0";
    default:
      break;
  }
  const int bits = static_cast<int>(8 * size_of(dtype));
  if (!info(dtype).is_signed) return std::to_string(greatest ? (1 << bits) - 1 : 0);
  return std::to_string(greatest ? (1 << (bits - 1)) - 1 : -(1 << (bits - 1)));
}

}  // namespace

const char* value_type(DType dtype) {
  constexpr const char* kTypes[kDTypeCount] = {"double", "float", "float", "float", "long",
                                               "int",    "int",   "int",   "ulong", "long",
                                               "int",    "int",   "int"};
  return kTypes[static_cast<int>(dtype)];
}

const char* dtype_struct(DType dtype) {
  constexpr const char* kNames[kDTypeCount] = {"F64", "F32", "F16", "BF16", "I64", "I32", "I16",
                                               "I8",  "U64", "U32", "U16",  "U8",  "Bool"};
  return kNames[static_cast<int>(dtype)];
}

const char* combine_formula(const OpDef& op, bool within_words) {
  const std::string_view name = op.name.text;
  if (name == "sum") return "formula::add";
  if (name == "prod") return "formula::mul";
  if (name == "max") return "formula::maximum";
  if (name == "min") return "formula::minimum";
  if (name == "any") return within_words ? "formula::either" : "formula::either_bits";
  if (name == "all") return within_words ? "formula::both" : "formula::both_bits";
  throw Error(ErrorCode::unsupported, std::string(name) + ": no such reduction on a GPU");
}

std::string identity_value(const OpDef& op, DType dtype) {
  const std::string_view name = op.name.text;
  const std::string type = value_type(dtype);
  if (name == "sum") return type + "(0)";
  if (name == "prod") return type + "(1)";
  const bool least = name == "max" || name == "any" || name == "argmax";
  if (is_float(dtype)) return type + (least ? "(-INFINITY)" : "(INFINITY)");
  return extreme(dtype, !least);
}

bool finds_index(const OpDef& op) {
  const std::string_view name = op.name.text;
  return name == "argmax" || name == "argmin";
}

DType reduced_dtype(const Region& region) {
  const RegionReduction& reduction = region.reduction;
  return finds_index(*reduction.op) ? region.value_dtype(reduction.value) : reduction.dtype;
}

RegionValues::RegionValues(const Region& region) : region_(region) {
  count_uses();
  plan_fma();
  const auto note = [this](DType dtype) { has_f64_ = has_f64_ || dtype == DType::f64; };
  std::string parameters;
  for (int i = 0; i < region.first_scalar(); ++i) {
    if (!reads_input(i)) continue;
    parameters += joined(value_type(region.value_dtype(i)), " v", i, ", ");
    note(region.value_dtype(i));
  }
  for (std::size_t i = 0; i < region.instructions.size(); ++i) {
    const auto value = static_cast<std::size_t>(region.first_result()) + i;
    if (uses_[value] == 0 || absorbed_[i]) continue;
    note(region.instructions[i].dtype);
    ++instructions_;
    instruction(i);
  }
  std::string members;
  std::string results;
  for (std::size_t o = 0; o < region.outputs.size(); ++o) {
    const RegionOutput& output = region.outputs[o];
    note(output.dtype);
    line(members, "  ", value_type(output.dtype), " y", o, ";");
    const std::string x =
        converted(name_of(output.value), region.value_dtype(output.value), output.dtype);
    line(results, "  values.y", o, " = ", x, ";");
  }
  if (region.reduction.op != nullptr) {
    const RegionReduction& reduction = region.reduction;
    const DType dtype = reduced_dtype(region);
    note(dtype);
    // any and all see whether values are 0, in the class of bool.
    const std::string x =
        converted(name_of(reduction.value), region.value_dtype(reduction.value), dtype);
    line(members, "  ", value_type(dtype), " reduced;");
    line(results, "  values.reduced = ", x, ";");
  }
  text_ = joined("struct Values {\n", members, "};\n", "HEARTH_INLINE Values region_compute(",
                 parameters, "thread const Operands& o) {\n", body_, "  Values values;\n", results,
                 "  (void)o;\n  return values;\n}\n");
}

std::string RegionValues::name_of(int value) const {
  if (value >= region_.first_scalar() && value < region_.first_result()) {
    return joined("o.s", value - region_.first_scalar());
  }
  return joined("v", value);
}

std::string RegionValues::declare(DType dtype, const std::string& expression) {
  const std::string name = joined("t", temporaries_++);
  line(body_, "  ", value_type(dtype), " ", name, " = ", expression, ";");
  return name;
}

// An output is a use of its own kind: its value is rounded as it is and never goes into an fma.
void RegionValues::count_uses() {
  uses_.assign(static_cast<std::size_t>(region_.first_result()) + region_.instructions.size(), 0);
  for (const RegionOutput& output : region_.outputs) {
    uses_[static_cast<std::size_t>(output.value)] += 3;
  }
  if (region_.reduction.op != nullptr) {
    ++uses_[static_cast<std::size_t>(region_.reduction.value)];
  }
  for (std::size_t i = region_.instructions.size(); i-- > 0;) {
    if (uses_[static_cast<std::size_t>(region_.first_result()) + i] == 0) continue;
    for (const std::int16_t arg : region_.instructions[i].args) {
      if (arg >= 0) ++uses_[static_cast<std::size_t>(arg)];
    }
  }
}

// Where both arguments are products, the first one is absorbed.
void RegionValues::plan_fma() {
  absorbed_.assign(region_.instructions.size(), false);
  fused_.assign(region_.instructions.size(), -1);
  if (region_.exact) return;
  for (std::size_t i = 0; i < region_.instructions.size(); ++i) {
    const RegionInstruction& sum = region_.instructions[i];
    const std::string_view op = sum.op->name.text;
    if ((op != "add" && op != "sub") || !is_float(sum.dtype)) continue;
    if (uses_[static_cast<std::size_t>(region_.first_result()) + i] == 0) continue;
    for (int side = 0; side < 2; ++side) {
      const int at = sum.args[side] - region_.first_result();
      if (at < 0 || uses_[static_cast<std::size_t>(sum.args[side])] != 1) continue;
      const RegionInstruction& product = region_.instructions[static_cast<std::size_t>(at)];
      if (std::string_view(product.op->name.text) != "mul" || product.dtype != sum.dtype) continue;
      absorbed_[static_cast<std::size_t>(at)] = true;
      fused_[i] = side;
      break;
    }
  }
}

std::string RegionValues::converted(const std::string& x, DType from, DType to) {
  if (from == to) return x;
  if (to == DType::bool_) return declare(to, joined("(", x, " != 0 ? 1 : 0)"));
  std::string y = x;
  if (!same_class(from, to)) {
    const char* const type = value_type(to);
    if (is_half(to)) {
      y = declare(to, joined("odd_float(", y, ")"));
    } else if (is_float(from) && !is_float(to)) {
      y = declare(to, joined(type, "_of(", y, ")"));
    } else {
      y = declare(to, joined(type, "(", y, ")"));
    }
  }
  const bool widens = is_bool(from) || (is_int(from) && is_int(to) && holds(to, from));
  if (is_half(to)) return declare(to, narrowed(y, to));
  if (!is_narrow_int(to) || widens) return y;
  if (!is_float(from)) return declare(to, narrowed(y, to));
  return declare(to, joined("between(", y, ", ", extreme(to, false), ", ", extreme(to, true), ")"));
}

void RegionValues::instruction(std::size_t i) {
  const RegionInstruction& instruction = region_.instructions[i];
  const std::string op = instruction.op->name.text;
  const Form* const form = form_of(op.c_str());
  if (form == nullptr) throw Error(ErrorCode::unsupported, op + ": no formula on a GPU");
  const int value = region_.first_result() + static_cast<int>(i);
  const auto argument = [&](int arg, DType wanted) {
    return converted(name_of(arg), region_.value_dtype(arg), wanted);
  };
  const auto define = [&](const std::string& expression) {
    line(body_, "  ", value_type(instruction.dtype), " v", value, " = ", expression, ";");
  };
  if (*form == Form::cast) return define(argument(instruction.args[0], instruction.dtype));

  DType work = instruction.dtype;
  if (*form == Form::comparison) work = region_.value_dtype(instruction.args[0]);
  if (*form == Form::logical) work = DType::bool_;
  if (op == "is_nan" && !is_float(work)) return define("0");

  std::string expression;
  if (fused_[i] >= 0) {
    const int side = fused_[i];
    const auto at = static_cast<std::size_t>(instruction.args[side] - region_.first_result());
    const RegionInstruction& product = region_.instructions[at];
    const bool subtracts = op == "sub";
    expression =
        joined("formula::fma(", subtracts && side == 1 ? "-" : "", argument(product.args[0], work),
               ", ", argument(product.args[1], work), ", ", subtracts && side == 0 ? "-" : "",
               argument(instruction.args[1 - side], work), ")");
  } else {
    expression = joined("formula::", op, "(");
    for (int k = 0; k < 4 && instruction.args[k] >= 0; ++k) {
      if (k > 0) expression += ", ";
      if (op == "where" && k == 0) {
        expression += joined(argument(instruction.args[k], DType::bool_), " != 0");
      } else {
        expression += argument(instruction.args[k], work);
      }
    }
    expression += ")";
  }
  const bool truth = *form == Form::comparison;
  const bool wraps = is_narrow_int(instruction.dtype) && may_leave_range(op);
  if (truth) {
    expression = joined("(", expression, " ? 1 : 0)");
  } else if (wraps || (region_.exact && is_half(instruction.dtype))) {
    expression = narrowed(expression, instruction.dtype);
  }
  define(expression);
}

std::string RegionValues::scalar_value(int scalar, const std::string& word) const {
  const DType dtype = region_.scalars[static_cast<std::size_t>(scalar)].dtype;
  switch (dtype) {
    case DType::f64:
      return joined("as_type<double>(", word, ")");
    case DType::f32:
      return joined("dynamic_float(", word, ")");
    case DType::f16:
    case DType::bf16: {
      const std::string value = joined("dynamic_float(", word, ")");
      return region_.exact ? narrowed(value, dtype) : value;
    }
    case DType::i64:
      return joined("long(", word, ")");
    case DType::u64:
      return word;
    case DType::bool_:
      return joined("(", word, " != 0 ? 1 : 0)");
    default: {
      const char* const name = dtype_struct(dtype);
      return joined(name, "::load(", name, "::memory(", word, "))");
    }
  }
}

}  // namespace hearth::gpu
