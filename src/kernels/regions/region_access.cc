#include "kernels/regions/region_access.h"

#include <algorithm>

#include "codegen/dialect_types.h"
#include "codegen/text/text_builder.h"
#include "graph/op_def.h"

namespace hearth::gpu {
namespace {

using runtime::KernelParameter;
using ParameterKind = KernelParameter::Kind;

// Vectors of one element each hold less, so that a thread takes more of them.
constexpr int kBytesInFlight = 96;
// Formulas that the compiler may have to write out for one thread.
constexpr int kUnrolledInstructions = 512;

}  // namespace

RegionAccess::RegionAccess(const LoweredRegion& lowered, const RegionValues& values, int width,
                           std::uint64_t aliased, int tiled)
    : region_(lowered.region),
      layout_(lowered.layout),
      values_(values),
      width_(width),
      aliased_(aliased),
      tiled_(tiled),
      constants_(lowered.layout.wide) {
  const Region& region = region_;
  const RegionLayout& layout = layout_;
  const int inputs = region.first_scalar();
  const int count = inputs + static_cast<int>(region.outputs.size());
  for (int k = 0; k < count; ++k) {
    const auto at = static_cast<std::size_t>(k);
    Role role = Role::packet;
    if (k < inputs && !values.reads_input(k)) {
      role = Role::unused;
    } else if (k < inputs && layout.operands[at].single) {
      role = Role::single;
    } else if (tiled >= 0 && is_tiled(layout, tiled, k)) {
      role = Role::tiled;
    } else if (width == 1) {
      role = Role::element;
    } else if (!layout.axes.empty() && layout.axes.back().strides[at] == 0) {
      role = Role::repeated;
    }
    roles_.push_back(role);
    int group = -1;
    if (role != Role::unused && role != Role::single) {
      const auto same = [&](int leader) {
        const auto other = static_cast<std::size_t>(leader);
        return std::all_of(layout.axes.begin(), layout.axes.end(), [&](const RegionAxis& axis) {
          return axis.strides[at] == axis.strides[other];
        });
      };
      const auto found = std::find_if(leaders_.begin(), leaders_.end(), same);
      group = static_cast<int>(found - leaders_.begin());
      if (found == leaders_.end()) leaders_.push_back(k);
    }
    groups_.push_back(group);
  }
  std::vector<std::int64_t> dynamics;
  for (std::size_t i = 0; i < region.scalars.size(); ++i) {
    if (values.reads_scalar(static_cast<int>(i))) dynamics.push_back(region.scalars[i].dynamic);
  }
  constants_.add(KernelConstants::Type::u32, "scalar", std::move(dynamics));
}

int RegionAccess::unroll(int at_most) const {
  int bytes = 0;
  for (int k = 0; k < operand_count(); ++k) {
    const Role role = roles_[static_cast<std::size_t>(k)];
    if (!is_input(k) || role == Role::unused || role == Role::single) continue;
    // What is read again and again comes from a cache.
    if (std::any_of(layout_.axes.begin(), layout_.axes.end(), [k](const RegionAxis& axis) {
          return axis.strides[static_cast<std::size_t>(k)] == 0;
        })) {
      continue;
    }
    bytes += role == Role::packet ? packet_bytes(k) : static_cast<int>(size_of(dtype(k)));
  }
  int unroll = at_most;
  while (unroll > 1 && unroll * bytes > kBytesInFlight) unroll /= 2;
  const int each = std::max(values_.instructions(), 1) * width_;
  while (unroll > 1 && unroll * each > kUnrolledInstructions) unroll /= 2;
  return bytes == 0 ? std::min(unroll, 2) : unroll;
}

std::string RegionAccess::operand_name(int k) const {
  return is_input(k) ? joined("x", k) : joined("y", k - region_.first_scalar());
}

std::string RegionAccess::arguments(Form form) const {
  const bool vector = form == Form::vector;
  std::string text;
  for (int k = 0; k < region_.first_scalar(); ++k) {
    const Role role = roles_[static_cast<std::size_t>(k)];
    const int group = groups_[static_cast<std::size_t>(k)];
    if (role == Role::unused) continue;
    const char* const type = dtype_struct(dtype(k));
    if (role == Role::single) {
      text += joined("o.x", k);
    } else if (!vector && role == Role::repeated) {
      text += joined(type, "::load(o.x", k, "[at.g", group, "])");
    } else if (!vector) {
      text += joined(type, "::load(o.x", k, "[at.g", group, " + offset_t(e)])");
    } else if (role == Role::packet || role == Role::tiled) {
      text += joined(type, "::get(in.x", k, ".word, i)");
    } else {
      text += joined("in.x", k);
    }
    text += ", ";
  }
  return text + "o";
}

std::string RegionAccess::text() const {
  std::string text;
  line(text, "typedef ", constants_.wide() ? "ulong" : "uint", " position;");
  line(text, "typedef ", constants_.wide() ? "long" : "int", " offset_t;");
  text += constants_.text("RegionParams");

  std::string operands;
  std::string inputs;
  std::string outputs;
  std::string load;
  std::string store;
  std::string put;
  for (int k = 0; k < operand_count(); ++k) {
    const auto at = static_cast<std::size_t>(k);
    const std::string name = operand_name(k);
    const char* const memory = dialect_type(dtype(k));
    const char* const type = dtype_struct(dtype(k));
    const std::string address = joined("o.", name, " + at.g", groups_[at]);
    if (roles_[at] == Role::unused) continue;
    if (roles_[at] == Role::single) {
      line(operands, "  ", value_type(dtype(k)), " ", name, ";");
      continue;
    }
    line(operands, "  device ", is_input(k) ? "const " : "", memory, "* ", name, ";");
    const bool tiled = roles_[at] == Role::tiled;
    const bool packet = tiled || roles_[at] == Role::packet;
    const std::string held =
        packet ? joined("Packet<", packet_bytes(k), ">") : std::string(value_type(dtype(k)));
    line(is_input(k) ? inputs : outputs, "  ", held, " ", name, ";");
    if (tiled) continue;
    if (is_input(k)) {
      const std::string value =
          packet ? joined(held, "::read(", address, ")") : joined(type, "::load(*(", address, "))");
      line(load, "  in.", name, " = ", value, ";");
    } else if (packet) {
      line(put, "  ", type, "::put(out.", name, ".word, i, values.", name, ");");
      line(store, "  out.", name, ".write(", address, ");");
    } else {
      line(put, "  out.", name, " = values.", name, ";");
      line(store, "  *(", address, ") = ", type, "::store(out.", name, ");");
    }
  }
  for (std::size_t i = 0; i < region_.scalars.size(); ++i) {
    if (values_.reads_scalar(static_cast<int>(i))) {
      line(operands, "  ", value_type(region_.scalars[i].dtype), " s", i, ";");
    }
  }
  std::string groups;
  for (std::size_t g = 0; g < leaders_.size(); ++g) line(groups, "  offset_t g", g, ";");

  text += joined("struct Operands {\n", operands, "};\nstruct Inputs {\n", inputs,
                 "};\nstruct Outputs {\n", outputs, "};\nstruct Offsets {\n", groups, "};\n");
  text += values_.text();
  text += joined(
      "HEARTH_INLINE void region_load(thread Inputs& in, thread const Operands& o, Offsets at) {\n",
      load, "  (void)in, (void)o, (void)at;\n}\n",
      "HEARTH_INLINE Values region_values(thread const Inputs& in, int i, thread const Operands& o)"
      " {\n  (void)in, (void)i;\n  return region_compute(",
      arguments(Form::vector), ");\n}\n",
      "HEARTH_INLINE void region_put(thread Outputs& out, int i, Values values) {\n", put,
      "  (void)out, (void)i, (void)values;\n}\n",
      "HEARTH_INLINE void region_store(thread const Outputs& out, thread const Operands& o, "
      "Offsets at) {\n",
      store, "  (void)out, (void)o, (void)at;\n}\n");
  return text;
}

std::string RegionAccess::tail_function(bool reduces) const {
  std::string text = joined("HEARTH_INLINE ", reduces ? "Accumulator" : "void",
                            " region_tail(thread const Operands& o, ",
                            reduces ? "Offsets at, " : "", "position e) {\n");
  if (!reduces) {
    text += "  Offsets at;\n";
    for (std::size_t g = 0; g < leaders_.size(); ++g) line(text, "  at.g", g, " = 0;");
  }
  line(text, "  Values values = region_compute(", arguments(Form::element), ");");
  for (int k = region_.first_scalar(); k < operand_count(); ++k) {
    const std::string name = operand_name(k);
    line(text, "  o.", name, "[at.g", groups_[static_cast<std::size_t>(k)],
         " + offset_t(e)] = ", dtype_struct(dtype(k)), "::store(values.", name, ");");
  }
  text += "  (void)at, (void)e, (void)values;\n";
  if (reduces) text += "  return region_lift(values.reduced, e);\n";
  return text + "}\n";
}

std::string RegionAccess::entry_begin(const std::string& result, const std::string& arrays) const {
  std::string parameters;
  std::string fill;
  bool dynamics = false;
  for (int k = 0; k < operand_count(); ++k) {
    const auto at = static_cast<std::size_t>(k);
    if (roles_[at] == Role::unused) continue;
    const std::string name = operand_name(k);
    parameters +=
        joined("device ", is_input(k) ? "const " : "", dialect_type(dtype(k)), "* ", name, ", ");
    if (roles_[at] == Role::single) {
      line(fill, "  o.", name, " = ", dtype_struct(dtype(k)), "::load(", name, "[0]);");
    } else {
      line(fill, "  o.", name, " = ", name, ";");
    }
  }
  int scalar = 0;
  int scalars = 0;
  for (std::size_t i = 0; i < region_.scalars.size(); ++i) {
    scalars += values_.reads_scalar(static_cast<int>(i)) ? 1 : 0;
  }
  for (std::size_t i = 0; i < region_.scalars.size(); ++i) {
    if (!values_.reads_scalar(static_cast<int>(i))) continue;
    dynamics = true;
    const std::string word =
        scalars > 1 ? joined("dynamics[p.scalar[", scalar++, "]]") : "dynamics[p.scalar]";
    line(fill, "  o.s", i, " = ", values_.scalar_value(static_cast<int>(i), word), ";");
  }
  // The one element of a region may be written over one that it reads: the thread that does it is
  // the only one to look.
  const bool alone = layout_.axes.empty() && result.empty();
  return joined("inline void region(", parameters, result.empty() ? "" : result + ", ",
                "constant RegionParams& p, ", dynamics ? "device const ulong* dynamics, " : "",
                arrays, "Ctx ctx) {\n", alone ? "  if (ctx.gid.x != 0u) return;\n" : "",
                "  Operands o;\n", fill);
}

void RegionAccess::describe(BuiltKernel* built, const KernelParameter* result) const {
  for (int k = 0; k < operand_count(); ++k) {
    const auto at = static_cast<std::size_t>(k);
    if (roles_[at] == Role::unused) continue;
    const RegionOperand& operand = layout_.operands[at];
    const bool shared = (aliased_ >> std::min(k, 63) & 1u) != 0;
    const ParameterKind kind = shared        ? ParameterKind::read_write
                               : is_input(k) ? ParameterKind::read
                                             : ParameterKind::write;
    built->source.parameters.push_back({kind, dialect_type(dtype(k)), operand_name(k)});
    const std::int64_t size = size_of(dtype(k));
    const bool packet = roles_[at] == Role::packet || roles_[at] == Role::tiled;
    built->operands.push_back(
        {k, operand.lowest * size, operand.span * size, packet ? packet_bytes(k) : 1});
  }
  if (result != nullptr) built->source.parameters.push_back(*result);
  built->source.parameters.push_back({ParameterKind::constant, "RegionParams", "p"});
  for (std::size_t i = 0; i < region_.scalars.size(); ++i) {
    built->dynamics = built->dynamics || values_.reads_scalar(static_cast<int>(i));
  }
  if (built->dynamics)
    built->source.parameters.push_back({ParameterKind::read, "ulong", "dynamics"});
  built->constants = constants_.bytes();
  built->has_f64 = values_.has_f64();
}

int widest_operand(const LoweredRegion& lowered, const RegionValues& values) {
  const Region& region = lowered.region;
  std::int64_t widest = 1;
  bool any = false;
  const int inputs = region.first_scalar();
  for (int k = 0; k < inputs + static_cast<int>(region.outputs.size()); ++k) {
    const RegionOperand& operand = lowered.layout.operands[static_cast<std::size_t>(k)];
    if (k < inputs && (operand.single || !values.reads_input(k))) continue;
    widest = std::max(widest, size_of(operand.dtype));
    any = true;
  }
  return any ? static_cast<int>(widest) : 4;
}

std::string region_name(const Region& region, const std::string& kind) {
  constexpr std::size_t kNamed = 3;
  const std::size_t count = region.instructions.size();
  std::string name = "region";
  for (std::size_t i = count > kNamed ? count - kNamed : 0; i < count; ++i) {
    name += joined("_", region.instructions[i].op->name.text);
  }
  if (region.reduction.op != nullptr) name += joined("_", region.reduction.op->name.text);
  return joined(name, "_", kind);
}

}  // namespace hearth::gpu
