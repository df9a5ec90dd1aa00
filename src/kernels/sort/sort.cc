// sort_with_indices: kernels/sort/sort.metal, and radix_sort.metal for lines that no threadgroup
// holds. topk: topk.metal. searchsorted: search.metal.
#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/dialect_types.h"
#include "core/integer_math.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/sort/radix_sort.h"
#include "kernels/sort/search.h"
#include "kernels/sort/topk.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {

KeyOrder key_order(DType dtype, bool descending) {
  constexpr auto kBits = [](DType type) -> std::int64_t {
    if (type == DType::f16) return 0x7c00;
    if (type == DType::bf16) return 0x7f80;
    return type == DType::f32 ? 0x7f800000 : 0x7ff0000000000000;
  };
  KeyOrder order = {.form = is_float(dtype)  ? kSortFloats
                            : is_bool(dtype) ? kSortBools
                                             : kSortIntegers,
                    .infinity = is_float(dtype) ? kBits(dtype) : 0,
                    .flip = descending ? -1 : 0};
  if (is_int(dtype) && info(dtype).is_signed) {
    order.flip ^= static_cast<std::int64_t>(std::uint64_t{1} << (8 * size_of(dtype) - 1));
  }
  return order;
}

namespace {

constexpr int kKeyBits = 32;  // of add_radix_sort()
// Elements that are sorted at a time, where there are several lines: workspace is 16 bytes of each.
constexpr std::int64_t kMaxSorted = std::int64_t{1} << 26;
// Positions of radix sort have 32 bits.
constexpr std::int64_t kMaxLength = std::int64_t{1} << 31;

// What all implementations read and write.
struct SortedLines {
  explicit SortedLines(const Signature& signature)
      : input(signature.inputs[0]),
        axis(axis_of(signature)),
        shape(input.shape),
        strides(input.strides),
        length(input.shape[axis]),
        x(strided_operand(input, 0)),
        memory(unsigned_type(size_of(input.dtype))),
        key(size_of(input.dtype) == 8 ? "ulong" : "uint"),
        key_bits(8 * static_cast<int>(size_of(input.dtype))),
        has_values(!signature.output_at(0).absent),
        has_indices(!signature.output_at(1).absent),
        index(dialect_type(signature.output_at(1).dtype)) {
    if (has_values) values = output_argument(signature, 0);
    if (has_indices) indices = output_argument(signature, 1);
    shape[axis] = 1;
    strides[axis] = 0;
    count = element_count(shape);
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
    merge_kernel_axes(&shape, {&strides});
    rank = std::to_string(shape.rank());
    ParamReader statics(signature.statics);
    statics.i64();
    order = key_order(input.dtype, statics.boolean());
  }

  LineParams<kRuntimeRank> params() const {
    return {.order = order,
            .count = count,
            .first = 0,
            .length = length,
            .inner = inner,
            .step = input.strides[axis],
            .width_bits = 0,
            .shift = 0,
            .x = {x.base, &shape, &strides}};
  }

  bool are_unwanted() const { return count * length == 0 || !(has_values || has_indices); }

  // The call of one of three kernels: `name` of both results, and those of one of them. `types` are
  // the first of its arguments, and `rest` those after the type of indices.
  template <class Operands>
  KernelCall results(const std::string& name, std::vector<std::string> types,
                     const std::vector<std::string>& rest, const Operands& operands) const {
    if (has_indices) types.emplace_back(index);
    types.insert(types.end(), rest.begin(), rest.end());
    KernelCall call("sort/sort.metal", name + results_suffix(has_values, has_indices), types);
    call.read(memory, "x", x.argument);
    operands(call);
    if (has_values) call.write(memory, "values", values);
    if (has_indices) call.write(index, "indices", indices);
    return call;
  }

  const TensorSpec& input;
  int axis;
  Shape shape;  // of lines: with an extent of 1 on the axis, merged
  Strides strides;
  std::int64_t length, count = 0, inner = 1;
  StridedOperand x;
  std::string memory, key, rank;
  int key_bits;
  bool has_values, has_indices;
  const char* index;
  StepArgument values, indices;
  KeyOrder order;
};

// Places of a threadgroup of sort_block(), each a key and a ushort, that every device has room for.
std::int64_t places_of(const TensorSpec& input) {
  const std::int64_t key = size_of(input.dtype) == 8 ? 8 : 4;
  return floor_power_of_two(runtime::common_traits().threadgroup_memory / (key + 2));
}

bool accepts_block(const Signature& signature) {
  return signature.inputs[0].shape[axis_of(signature)] <= places_of(signature.inputs[0]);
}

Prepared prepare_block(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const SortedLines lines(signature);
  if (lines.are_unwanted()) return prepared_steps(std::move(plan));
  const std::int64_t width = ceil_power_of_two(std::max<std::int64_t>(lines.length, 2));
  const std::int64_t places = std::max<std::int64_t>(width, 2 * kThreads);
  LineParams<kRuntimeRank> params = lines.params();
  params.width_bits = std::countr_zero(static_cast<std::uint64_t>(width));
  const std::int64_t groups = ceil_div(lines.count, places / width);
  plan->add_step(lines
                     .results("sort_block", {lines.memory, lines.key},
                              {std::to_string(places), lines.rank}, [](KernelCall&) {})
                     .constants(params)
                     .threadgroup(lines.key, "keys", places)
                     .threadgroup("ushort", "places", places)
                     .step(*plan, {static_cast<std::uint32_t>(groups)}, {kThreads}, kThreads));
  return prepared_steps(std::move(plan));
}

constexpr std::int64_t kMaxSortThreads = 512;  // with the registers that all these take

bool accepts_threads(const Signature& signature) {
  const TensorSpec& input = signature.inputs[0];
  return size_of(input.dtype) <= 4 &&
         input.shape[axis_of(signature)] <= kSortHeld * kMaxSortThreads;
}

// Words of a key and a position of 16 bits.
Prepared prepare_threads(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const SortedLines lines(signature);
  if (lines.are_unwanted()) return prepared_steps(std::move(plan));
  const std::int64_t width = ceil_power_of_two(std::max<std::int64_t>(lines.length, kSortHeld));
  const std::int64_t places = std::max<std::int64_t>(width, kSortHeld * kThreads);
  LineParams<kRuntimeRank> params = lines.params();
  params.width_bits = std::countr_zero(static_cast<std::uint64_t>(width));
  const std::int64_t groups = ceil_div(lines.count, places / width);
  const bool is_wide = lines.key_bits > 16;
  const std::string word = is_wide ? "ulong" : "uint";
  plan->add_step(lines
                     .results("sort_threads", {lines.memory, word},
                              {is_wide ? "32" : "16", lines.rank}, [](KernelCall&) {})
                     .constants(params)
                     .threadgroup(word, "staged", kSortHeld * kMaxSortThreads)
                     .step(*plan, {static_cast<std::uint32_t>(groups)},
                           {static_cast<std::uint32_t>(places / kSortHeld)}, kMaxSortThreads));
  return prepared_steps(std::move(plan));
}

bool accepts_radix(const Signature& signature) {
  return signature.inputs[0].shape[axis_of(signature)] < kMaxLength;
}

// Pairs of all lines at once, or of some of them after others: sorted by their keys, 32 bits at a
// time, and then by their lines.
Prepared prepare_radix(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const SortedLines lines(signature);
  if (lines.are_unwanted()) return prepared_steps(std::move(plan));
  const std::int64_t most = std::clamp<std::int64_t>(kMaxSorted / lines.length, 1, lines.count);
  SortedPairs pairs = add_pairs(*plan, most * lines.length);
  SortedPairs other = add_pairs(*plan, most * lines.length);
  LineParams<kRuntimeRank> params = lines.params();
  for (; params.first < lines.count; params.first += most) {
    params.count = std::min(most, lines.count - params.first);
    const std::int64_t count = params.count * lines.length;
    const auto add = [&](KernelCall call) {
      plan->add_step(call.constants(params).step(*plan, groups_for(count), {kThreads}, kThreads));
    };
    const std::vector<std::string> types = {lines.memory, lines.rank};
    add(KernelCall("sort/sort.metal", "sort_first_keys", types)
            .read(lines.memory, "x", lines.x.argument)
            .write("uint", "keys", pairs.keys)
            .write("uint", "positions", pairs.values));
    add_radix_sort(*plan, *signature.device, pairs, other, count,
                   std::min(lines.key_bits, kKeyBits));
    if (lines.key_bits > kKeyBits) {
      params.shift = kKeyBits;
      add(KernelCall("sort/sort.metal", "sort_next_keys", types)
              .read(lines.memory, "x", lines.x.argument)
              .read("uint", "positions", pairs.values)
              .write("uint", "keys", pairs.keys));
      add_radix_sort(*plan, *signature.device, pairs, other, count, lines.key_bits - kKeyBits);
    }
    if (params.count > 1) {
      add(KernelCall("sort/sort.metal", "sort_line_keys", {lines.rank})
              .read("uint", "positions", pairs.values)
              .write("uint", "keys", pairs.keys));
      const int line_bits = std::bit_width(static_cast<std::uint64_t>(params.count - 1));
      add_radix_sort(*plan, *signature.device, pairs, other, count, line_bits);
    }
    const bool has_keys = params.count == 1 && lines.key_bits <= kKeyBits;
    add(lines.results("sort_store", {lines.memory}, {truth(has_keys), lines.rank},
                      [&](KernelCall& call) {
                        call.read("uint", "keys", pairs.keys);
                        call.read("uint", "positions", pairs.values);
                      }));
  }
  return prepared_steps(std::move(plan));
}

constexpr std::uint32_t kEither = 0b11;

constexpr Implementation kSortFamily[] = {
    {.name = "threads",
     .op = &defs::sort_with_indices_op,
     .accepts = accepts_threads,
     .prepare = prepare_threads,
     .launch = launch_steps,
     .may_omit = kEither},
    {.name = "block",
     .op = &defs::sort_with_indices_op,
     .accepts = accepts_block,
     .prepare = prepare_block,
     .launch = launch_steps,
     .may_omit = kEither},
    {.name = "radix",
     .op = &defs::sort_with_indices_op,
     .accepts = accepts_radix,
     .prepare = prepare_radix,
     .launch = launch_steps,
     .may_omit = kEither},
    {.name = "threshold",
     .op = &defs::topk_op,
     .accepts = accepts_topk,
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_topk,
     .launch = launch_steps,
     .may_omit = kEither},
    {.name = "binary",
     .op = &defs::searchsorted_op,
     .prepare = prepare_search,
     .launch = launch_steps},
};

}  // namespace

Family sort_family() { return kSortFamily; }

}  // namespace hearth::gpu
