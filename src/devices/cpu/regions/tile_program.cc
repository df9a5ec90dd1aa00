#include "devices/cpu/regions/tile_program.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "devices/cpu/regions/formula_length.h"
#include "devices/cpu/regions/tile_draft.h"
#include "devices/cpu/streaming.h"
#include "graph/op_def.h"
#include "hearth/error.h"

namespace hearth::cpu {
namespace {

// The elementwise ops by the hash of their names.
TileOp find_tile_op(const OpDef& op) {
  static const auto* const ops = [] {
    auto* map = new std::unordered_map<std::uint64_t, TileOp>;
#define HEARTH_TILE_OP(name) map->emplace(OpName(#name).hash, TileOp::name);
#define UNARY(name) HEARTH_TILE_OP(name)
#define BINARY(name) HEARTH_TILE_OP(name)
#define COMPARISON(name) HEARTH_TILE_OP(name)
#define LOGICAL(name) HEARTH_TILE_OP(name)
#define TERNARY(name) HEARTH_TILE_OP(name)
#define PREDICATE(name) HEARTH_TILE_OP(name)
#include "ops/op_list.def"
#undef HEARTH_TILE_OP
    return map;
  }();
  const auto found = ops->find(op.name.hash);
  return found == ops->end() ? TileOp::count : found->second;
}

// Nanoseconds an element, roughly; decides about threads and streaming only.
double cost_of(TileOp op) {
  static constexpr auto kLengths = [] {
    std::array<int, kTileOps> lengths{};
    lengths.fill(1);
#define UNARY(name) lengths[static_cast<int>(TileOp::name)] = formula_length(TileOp::name);
#define BINARY(name) UNARY(name)
#define TERNARY(name) UNARY(name)
#include "ops/op_list.def"
    return lengths;
  }();
  const int length = kLengths[static_cast<std::size_t>(op)];
  return length <= kShortFormula ? 0.04 : length <= kLongFormula ? 0.3 : 1.0;
}

// Where a value is while compiling. Tiles are numbered from 0 and live in `tile`; memory operands
// and single values are slots already.
struct Value {
  bool known = false;
  bool is_tile = false;
  bool single = false;
  int at = -1;  // a tile number or a slot
  ComputeClass type = ComputeClass::f32;
};

class Compiler {
 public:
  Compiler(const LoweredRegion& lowered, const TileLayout& layout, bool careful, DType reduced)
      : lowered_(lowered),
        region_(lowered.region),
        table_(tile_table()),
        careful_(careful),
        reduced_(reduced) {
    walk(layout);
    const Region& region = region_;
    draft_.inputs = static_cast<int>(region.inputs.size());
    draft_.program.first_single = static_cast<int>(draft_.program.operands.size());
    draft_.program.scalars = region.scalars;
    draft_.program.exact = region.exact;
    for (const RegionScalar& scalar : region.scalars) {
      draft_.program.scalar_classes.push_back(compute_class(scalar.dtype));
    }
    draft_.next_single = draft_.program.first_single + static_cast<int>(region.scalars.size());
    values_.resize(static_cast<std::size_t>(region.first_result()) + region.instructions.size());
  }

  TileProgram compile() {
    plan_products();
    for (std::size_t i = 0; i < region_.instructions.size(); ++i) {
      if (done_elsewhere_[i]) continue;
      values_[static_cast<std::size_t>(region_.first_result()) + i] = instruction(i);
    }
    if (region_.reduction.op != nullptr) reduced_value();
    finish_outputs();
    return place_tiles(std::move(draft_));
  }

 private:
  void walk(const TileLayout& layout) {
    const RegionLayout& space = lowered_.layout;
    const int rank = static_cast<int>(space.axes.size());
    const int first_inner = std::max(0, rank - layout.inner_axes);
    std::vector<const RegionAxis*> outer;
    for (const bool reduced : {false, true}) {
      for (int i = 0; i < first_inner; ++i) {
        const RegionAxis& axis = space.axes[static_cast<std::size_t>(i)];
        if (axis.reduced == reduced) outer.push_back(&axis);
      }
      if (!reduced) draft_.program.first_reduced = static_cast<int>(outer.size());
    }
    for (const RegionAxis* axis : outer) {
      draft_.program.outer.push_back(axis->extent);
      draft_.program.rows *= axis->extent;
    }
    for (int i = first_inner; i < rank; ++i) {
      const std::int64_t extent = space.axes[static_cast<std::size_t>(i)].extent;
      draft_.program.inner.push_back(extent);
      draft_.program.length *= extent;
    }
    for (std::size_t k = 0; k < space.operands.size(); ++k) {
      TileOperand operand{};
      operand.dtype = space.operands[k].dtype;
      operand.size = size_of(operand.dtype);
      operand.offset = space.operands[k].first() * operand.size;
      for (std::size_t i = 0; i < outer.size(); ++i) {
        operand.outer_strides[i] = outer[i]->strides[k] * operand.size;
      }
      operand.line_stride = 1;
      for (int i = rank - 1; i >= first_inner; --i) {
        const RegionAxis& axis = space.axes[static_cast<std::size_t>(i)];
        operand.inner_strides[i - first_inner] = axis.strides[k];
        if (i == rank - 1) {
          operand.line_stride = axis.strides[k];
        } else {
          const RegionAxis& below = space.axes[static_cast<std::size_t>(i) + 1];
          if (axis.strides[k] != below.strides[k] * below.extent) operand.uneven = true;
        }
      }
      draft_.program.operands.push_back(operand);
    }
    draft_.program.tile = layout.tile;
  }

  const std::int16_t* args_of(std::size_t i) const { return region_.instructions[i].args; }

  // Steps that do the work of two and give the same bits: the product added to a fused one, and
  // signs of products.
  void plan_products() {
    const std::size_t count = region_.instructions.size();
    second_.assign(count, -1);
    negated_.assign(count, -1);
    ops_.resize(count);
    done_elsewhere_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      ops_[i] = find_tile_op(*region_.instructions[i].op);
      done_elsewhere_[i] = !lowered_.is_carried_out(i);
    }
    const auto source = [&](int value, TileOp op, DType dtype) {
      const int at = value - region_.first_result();
      if (at < 0 || lowered_.uses[static_cast<std::size_t>(value)] != 1) return -1;
      const auto i = static_cast<std::size_t>(at);
      const bool fits = !done_elsewhere_[i] && lowered_.instructions[i].product < 0 &&
                        negated_[i] < 0 && region_.instructions[i].dtype == dtype && ops_[i] == op;
      return fits ? at : -1;
    };
    for (std::size_t i = 0; i < count; ++i) {
      const RegionInstruction& instruction = region_.instructions[i];
      if (done_elsewhere_[i] || !is_float(instruction.dtype)) continue;
      if (lowered_.instructions[i].product == 0) {
        second_[i] = source(instruction.args[1], TileOp::mul, instruction.dtype);
        if (second_[i] >= 0) done_elsewhere_[static_cast<std::size_t>(second_[i])] = true;
      } else if (ops_[i] == TileOp::mul) {
        for (int side = 0; side < 2 && negated_[i] < 0; ++side) {
          negated_[i] = source(instruction.args[side], TileOp::neg, instruction.dtype);
        }
      } else if (ops_[i] == TileOp::neg && !region_.exact) {
        negated_[i] = source(instruction.args[0], TileOp::mul, instruction.dtype);
      }
      if (negated_[i] >= 0) done_elsewhere_[static_cast<std::size_t>(negated_[i])] = true;
    }
  }

  int new_tile(ComputeClass type) {
    draft_.tile_types.push_back(type);
    return static_cast<int>(draft_.tile_types.size()) - 1;
  }
  static int code(const Value& value) { return value.is_tile ? kTileBase + value.at : value.at; }
  Value tile_value(ComputeClass type) {
    return {.known = true, .is_tile = true, .single = false, .at = new_tile(type), .type = type};
  }

  TileStep& emit(TileFunction function, int target, int a, int b = -1, int c = -1, int d = -1) {
    const auto slot = [](int x) { return static_cast<std::uint16_t>(x < 0 ? 0 : x); };
    draft_.program.steps.push_back(
        {function, slot(target), slot(a), slot(b), slot(c), slot(d), false, false, 1});
    draft_.arities.push_back(d >= 0 ? 4 : c >= 0 ? 3 : b >= 0 ? 2 : 1);
    if (draft_.program.steps.size() > 60000 || draft_.tile_types.size() >= kTileBase) {
      throw Error(ErrorCode::invalid_argument, "region: too many instructions for one region");
    }
    return draft_.program.steps.back();
  }
  Value emit_to_tile(TileFunction function, ComputeClass type, const Value& a) {
    const Value target = tile_value(type);
    emit(function, code(target), code(a));
    draft_.program.cost += 0.03;
    return target;
  }

  // The value as steps read it, loaded when first asked for.
  Value value(int id) {
    Value& known = values_[static_cast<std::size_t>(id)];
    if (known.known) return known;
    if (id >= region_.first_scalar() && id < region_.first_result()) {
      const int k = id - region_.first_scalar();
      known = {.known = true,
               .is_tile = false,
               .single = true,
               .at = draft_.program.first_single + k,
               .type = draft_.program.scalar_classes[static_cast<std::size_t>(k)]};
      return known;
    }
    const TileOperand& operand = draft_.program.operands[static_cast<std::size_t>(id)];
    const auto dtype = static_cast<std::size_t>(operand.dtype);
    const ComputeClass type = compute_class(operand.dtype);
    draft_.program.cost += 0.02 * static_cast<double>(operand.size) / 4;
    if (operand.uneven) {
      known = tile_value(type);
      draft_.program.gathers.push_back({id, known.at, table_.load[dtype]});
      draft_.program.cost += 0.3;
    } else if (operand.line_stride == 0 && draft_.program.length > 1) {
      if (is_native(operand.dtype)) {
        known = {.known = true, .is_tile = false, .single = true, .at = id, .type = type};
      } else {
        known = {.known = true,
                 .is_tile = false,
                 .single = true,
                 .at = draft_.next_single,
                 .type = type};
        draft_.program.singles.push_back({id, draft_.next_single++, table_.load[dtype]});
      }
    } else if (operand.line_stride == 1 || draft_.program.length == 1) {
      const Value memory{.known = true, .is_tile = false, .single = false, .at = id, .type = type};
      known = memory;
      if (!is_native(operand.dtype)) known = emit_to_tile(table_.load_dense[dtype], type, memory);
    } else {
      const Value target = tile_value(type);
      emit(table_.load_strided[dtype], code(target), id).stride = operand.line_stride;
      draft_.program.cost += 0.3;
      known = target;
    }
    return known;
  }

  Value filled(const Value& single) {
    Value target = tile_value(single.type);
    emit(table_.fill[static_cast<int>(single.type)], code(target), single.at);
    return target;
  }

  Value rounded(Value x, DType dtype) {
    if (x.single) x = filled(x);
    return emit_to_tile(table_.narrow[static_cast<std::size_t>(dtype)], x.type, x);
  }

  // Whether nothing reads result `i` but stores in its own dtype, which round as they convert.
  bool only_stored(std::size_t i) const {
    const int result = region_.first_result() + static_cast<int>(i);
    for (const RegionInstruction& each : region_.instructions) {
      for (const int arg : each.args) {
        if (arg == result) return false;
      }
    }
    if (region_.reduction.op != nullptr && region_.reduction.value == result) return false;
    for (const RegionOutput& output : region_.outputs) {
      if (output.value == result && output.dtype != region_.value_dtype(result)) return false;
    }
    return true;
  }

  // `stored`: what it is converted to is stored, and not read as a tile.
  Value converted(Value x, DType from, DType to, bool stored = false) {
    const ComputeClass target = compute_class(to);
    const int source = static_cast<int>(x.type);
    if (from == to) return x;
    if (to == DType::bool_) {
      if (x.single) x = filled(x);
      return emit_to_tile(table_.to_bool[source], target, x);
    }
    if (x.type != target) {
      if (x.single) x = filled(x);
      TileFunction function = table_.cast[source][static_cast<int>(target)];
      // i32 and halves need no care: what f32 cannot hold of them is rounded to infinity anyway
      // for f16, and is odd-rounded for bf16.
      if (is_half(to) && table_.cast_to_odd[source] != nullptr) {
        function = table_.cast_to_odd[source];
      }
      x = emit_to_tile(function, target, x);
    }
    const bool widens = is_bool(from) || (is_int(from) && is_int(to) && holds(to, from));
    if (is_half(to) && stored) return x;
    if (is_half(to) || (is_narrow_int(to) && !widens)) {
      if (x.single) x = filled(x);
      const auto i = static_cast<std::size_t>(to);
      x = emit_to_tile(is_float(from) && is_int(to) ? table_.saturate[i] : table_.narrow[i], target,
                       x);
    }
    return x;
  }

  Value instruction(std::size_t i) {
    const RegionInstruction& instruction = region_.instructions[i];
    const LoweredInstruction& how = lowered_.instructions[i];
    if (instruction.op->formula == Formula::cast) {
      const int arg = instruction.args[0];
      const DType from = region_.value_dtype(arg);
      Value x = value(arg);
      if (how.rounds_source) x = rounded(x, from);
      return converted(x, from, instruction.dtype, is_half(instruction.dtype) && only_stored(i));
    }
    TileOp op = ops_[i];
    if (op == TileOp::count) {
      throw Error(ErrorCode::unsupported,
                  std::string(instruction.op->name.text) + ": no formula on the CPU");
    }
    int args[4] = {instruction.args[0], instruction.args[1], instruction.args[2], -1};
    if (how.product >= 0) {
      const int side = how.product;
      const auto product =
          static_cast<std::size_t>(instruction.args[side] - region_.first_result());
      const std::int16_t* factors = args_of(product);
      op = instruction.op->fma == FmaPart::sum ? TileOp::fma
           : side == 0                         ? TileOp::fms
                                               : TileOp::fnma;
      args[2] = instruction.args[1 - side];
      args[0] = factors[0];
      args[1] = factors[1];
      if (second_[i] >= 0) {
        const std::int16_t* added = args_of(static_cast<std::size_t>(second_[i]));
        op = op == TileOp::fma ? TileOp::fma_mul : TileOp::fms_mul;
        args[2] = added[0];
        args[3] = added[1];
      }
    } else if (negated_[i] >= 0) {
      const std::int16_t* inside = args_of(static_cast<std::size_t>(negated_[i]));
      if (op == TileOp::neg) {
        args[0] = inside[0];
        args[1] = inside[1];
      } else {
        const int side = instruction.args[0] == negated_[i] + region_.first_result() ? 0 : 1;
        args[side] = inside[0];
      }
      op = TileOp::nmul;
    }
    const int count = args[3] >= 0 ? 4 : args[2] >= 0 ? 3 : args[1] >= 0 ? 2 : 1;

    Value x[4];
    for (int k = 0; k < count; ++k) {
      x[k] = converted(value(args[k]), region_.value_dtype(args[k]), lowered_.argument_dtype(i, k));
    }
    // Single values stand second in products.
    if (op >= TileOp::fma && x[0].single) std::swap(x[0], x[1]);
    if (count == 4 && x[2].single) std::swap(x[2], x[3]);

    const ComputeClass type = compute_class(how.work);
    const auto& forms = table_.op[static_cast<int>(op)][static_cast<int>(type)];
    if (forms[0] == nullptr) {
      throw Error(ErrorCode::unsupported, std::string(instruction.op->name.text) +
                                              ": not defined for " + std::string(name(how.work)));
    }
    unsigned mask = 0;
    for (int k = 0; k < count; ++k) mask |= x[k].single ? 1u << k : 0u;
    unsigned form = mask;
    while (form != 0 && forms[form] == nullptr) form = (form - 1) & mask;
    for (int k = 0; k < count; ++k) {
      if (((mask & ~form) >> k & 1u) != 0) x[k] = filled(x[k]);
    }
    const bool truth = instruction.op->formula == Formula::comparison;
    Value target = tile_value(truth ? ComputeClass::i32 : type);
    emit(forms[form], code(target), code(x[0]), count > 1 ? code(x[1]) : -1,
         count > 2 ? code(x[2]) : -1, count > 3 ? code(x[3]) : -1);
    draft_.program.cost += cost_of(op) * static_cast<double>(size_of(type)) / 4;
    if (how.narrows && !(is_half(instruction.dtype) && only_stored(i))) {
      target =
          emit_to_tile(table_.narrow[static_cast<std::size_t>(instruction.dtype)], type, target);
    }
    return target;
  }

  void reduced_value() {
    const RegionReduction& reduction = region_.reduction;
    Value x = converted(value(reduction.value), region_.value_dtype(reduction.value), reduced_);
    if (x.single) x = filled(x);
    // An output may take over the memory of an input before the value is read.
    if (!x.is_tile && !region_.outputs.empty()) x = copied(x);
    draft_.result = code(x);
  }

  void finish_outputs() {
    // The last step that reads an input, for each step count.
    const int defined_steps = static_cast<int>(draft_.program.steps.size());
    int last_read = -1;
    for (int s = 0; s < defined_steps; ++s) {
      if (reads_input(s)) last_read = s;
    }
    for (const RegionOutput& output : region_.outputs) {
      if (output.value < draft_.inputs && region_.outputs.size() > 1) {
        last_read = std::numeric_limits<int>::max();
      }
    }
    draft_.bound.assign(draft_.tile_types.size(), -1);
    std::vector<int> late;
    for (std::size_t o = 0; o < region_.outputs.size(); ++o) {
      const RegionOutput& output = region_.outputs[o];
      const int slot = draft_.inputs + static_cast<int>(o);
      const TileOperand& operand = draft_.program.operands[static_cast<std::size_t>(slot)];
      if (operand.uneven) {
        throw Error(ErrorCode::internal, "region: an output has no one stride along a line");
      }
      const Value x = value(output.value);
      const bool dense = operand.line_stride == 1 || draft_.program.length == 1;
      const bool fits = x.is_tile && region_.value_dtype(output.value) == output.dtype &&
                        is_native(output.dtype) && dense && bound_size(x.at) && !is_gathered(x.at);
      const int defined = fits ? definition(x.at) : -1;
      if (fits && defined >= 0 && !streams(operand) && (!careful_ || last_read <= defined)) {
        draft_.bound[static_cast<std::size_t>(x.at)] = slot;
        continue;
      }
      late.push_back(static_cast<int>(o));
    }
    // What is left to read is read before the first of these is written.
    std::vector<Value> ready;
    for (const int o : late) {
      const RegionOutput& output = region_.outputs[static_cast<std::size_t>(o)];
      Value x = converted(value(output.value), region_.value_dtype(output.value), output.dtype);
      if (x.single) x = filled(x);
      if (!x.is_tile && region_.outputs.size() > 1) x = copied(x);
      ready.push_back(x);
    }
    for (std::size_t i = 0; i < late.size(); ++i) {
      late_output(static_cast<std::size_t>(late[i]), ready[i]);
    }
  }
  Value copied(const Value& x) {
    return emit_to_tile(table_.copy[static_cast<int>(x.type)], x.type, x);
  }

  bool bound_size(int tile) {
    if (static_cast<std::size_t>(tile) >= draft_.bound.size())
      draft_.bound.resize(draft_.tile_types.size(), -1);
    return draft_.bound[static_cast<std::size_t>(tile)] < 0;
  }
  bool is_gathered(int tile) const {
    for (const TileGather& gather : draft_.program.gathers) {
      if (gather.slot == tile) return true;
    }
    return false;
  }
  int definition(int tile) const {
    for (std::size_t s = 0; s < draft_.program.steps.size(); ++s) {
      if (draft_.program.steps[s].target == kTileBase + tile) return static_cast<int>(s);
    }
    return -1;
  }
  bool reads_input(int s) const {
    const TileStep& step = draft_.program.steps[static_cast<std::size_t>(s)];
    const int count = draft_.arities[static_cast<std::size_t>(s)];
    return step.a < draft_.inputs || (count > 1 && step.b < draft_.inputs) ||
           (count > 2 && step.c < draft_.inputs) || (count > 3 && step.d < draft_.inputs);
  }
  bool streams(const TileOperand& operand) const {
    return draft_.program.rows * draft_.program.length * operand.size > kRegionStreamBytes &&
           draft_.program.cost < kRegionStreamCost && region_.reduction.op == nullptr;
  }

  void late_output(std::size_t o, const Value& x) {
    const RegionOutput& output = region_.outputs[o];
    const int slot = draft_.inputs + static_cast<int>(o);
    const TileOperand& operand = draft_.program.operands[static_cast<std::size_t>(slot)];
    const auto dtype = static_cast<std::size_t>(output.dtype);
    const bool dense = operand.line_stride == 1 || draft_.program.length == 1;
    if (dense && is_native(output.dtype)) {
      const auto type = static_cast<std::size_t>(x.type);
      draft_.streamed = streams(operand);
      emit(draft_.streamed ? table_.stream[type] : table_.copy[type], slot, code(x));
    } else if (dense) {
      emit(table_.store_dense[dtype], slot, code(x));
    } else {
      emit(table_.store_strided[dtype], slot, code(x)).stride = operand.line_stride;
    }
    draft_.program.cost += 0.03;
  }

  const LoweredRegion& lowered_;
  const Region& region_;
  const TileTable& table_;
  const bool careful_;
  const DType reduced_;
  TileDraft draft_;
  std::vector<Value> values_;
  std::vector<TileOp> ops_;           // of each instruction
  std::vector<bool> done_elsewhere_;  // by another instruction's step, or not at all
  std::vector<int> second_;           // the product that is added, done in the same step, or -1
  std::vector<int> negated_;          // the other half of a negated product, or -1
};

}  // namespace

bool outputs_join(const LoweredRegion& lowered, std::size_t axis) {
  const RegionAxis& above = lowered.layout.axes[axis];
  const RegionAxis& below = lowered.layout.axes[axis + 1];
  const std::size_t first = lowered.region.inputs.size();
  for (std::size_t k = first; k < first + lowered.region.outputs.size(); ++k) {
    if (above.strides[k] != below.strides[k] * below.extent) return false;
  }
  return true;
}

TileProgram compile_tiles(const LoweredRegion& lowered, const TileLayout& layout, bool careful,
                          DType reduced) {
  return Compiler(lowered, layout, careful, reduced).compile();
}

}  // namespace hearth::cpu
