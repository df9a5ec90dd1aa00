#include "kernels/regions/region_values.h"

#include "codegen/dialect_types.h"
#include "codegen/text/text_builder.h"
#include "core/compute_class.h"
#include "graph/op_def.h"
#include "hearth/error.h"

namespace hearth::gpu {
namespace {

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

const char* combine_formula(const RegionReduction& reduction, bool within_words) {
  const bool truths = reduction.dtype == DType::bool_;
  switch (reduction.op->combine) {
    case Combine::sum:
      return "formula::add";
    case Combine::prod:
      return "formula::mul";
    case Combine::max:
      if (!truths) return "formula::maximum";
      return within_words ? "formula::either" : "formula::either_bits";
    case Combine::min:
      if (!truths) return "formula::minimum";
      return within_words ? "formula::both" : "formula::both_bits";
    case Combine::none:
      break;
  }
  throw Error(ErrorCode::unsupported,
              std::string(reduction.op->name.text) + ": no such reduction on a GPU");
}

std::string identity_value(Combine combine, DType dtype) {
  const std::string type = value_type(dtype);
  if (combine == Combine::sum) return type + "(0)";
  if (combine == Combine::prod) return type + "(1)";
  const bool least = combine == Combine::max;
  if (is_float(dtype)) return type + (least ? "(-INFINITY)" : "(INFINITY)");
  return extreme(dtype, !least);
}

RegionValues::RegionValues(const LoweredRegion& lowered)
    : lowered_(lowered), region_(lowered.region) {
  const Region& region = region_;
  const auto note = [this](DType dtype) { has_f64_ = has_f64_ || dtype == DType::f64; };
  std::string parameters;
  for (int i = 0; i < region.first_scalar(); ++i) {
    if (!reads_input(i)) continue;
    parameters += joined(value_type(region.value_dtype(i)), " v", i, ", ");
    note(region.value_dtype(i));
  }
  for (std::size_t i = 0; i < region.instructions.size(); ++i) {
    if (!lowered.is_carried_out(i)) continue;
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
    const DType dtype = lowered.reduced_dtype();
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

std::string RegionValues::converted(const std::string& x, DType from, DType to) {
  if (from == to) return x;
  if (to == DType::bool_) return declare(to, joined("(", x, " != 0 ? 1 : 0)"));
  std::string y = x;
  if (compute_class(from) != compute_class(to)) {
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
  const Formula form = instruction.op->formula;
  if (form == Formula::none) throw Error(ErrorCode::unsupported, op + ": no formula on a GPU");
  const LoweredInstruction& how = lowered_.instructions[i];
  const auto argument = [&](int arg, DType wanted) {
    return converted(name_of(arg), region_.value_dtype(arg), wanted);
  };
  const auto define = [&](const std::string& expression) {
    line(body_, "  ", value_type(instruction.dtype), " v",
         region_.first_result() + static_cast<int>(i), " = ", expression, ";");
  };
  if (form == Formula::cast) {
    const int source = instruction.args[0];
    const DType from = region_.value_dtype(source);
    const std::string x = name_of(source);
    return define(converted(how.rounds_source ? declare(from, narrowed(x, from)) : x, from,
                            instruction.dtype));
  }

  const DType work = how.work;
  std::string expression;
  if (how.product >= 0) {
    const int side = how.product;
    const auto at = static_cast<std::size_t>(instruction.args[side] - region_.first_result());
    const RegionInstruction& product = region_.instructions[at];
    const bool subtracts = instruction.op->fma == FmaPart::difference;
    expression =
        joined("formula::fma(", subtracts && side == 1 ? "-" : "", argument(product.args[0], work),
               ", ", argument(product.args[1], work), ", ", subtracts && side == 0 ? "-" : "",
               argument(instruction.args[1 - side], work), ")");
  } else {
    expression = joined("formula::", op, "(");
    for (int k = 0; k < 4 && instruction.args[k] >= 0; ++k) {
      if (k > 0) expression += ", ";
      expression += argument(instruction.args[k], lowered_.argument_dtype(i, k));
      if (form == Formula::choice && k == 0) expression += " != 0";
    }
    expression += ")";
  }
  if (form == Formula::comparison) {
    expression = joined("(", expression, " ? 1 : 0)");
  } else if (how.narrows) {
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
