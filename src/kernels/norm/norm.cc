// layer_norm, rms_norm, their gradients, and l2_norm: kernels/norm/norm.metal and
// kernels/norm/backward.metal.
#include <algorithm>
#include <bit>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/launch/row_split.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {

#include "kernels/norm/params.h"

namespace {

// Threads of a row, and packets that they hold. Gradients hold twice as much, and the sums of their
// columns.
constexpr std::int64_t kMaxNormLanes = 512;
constexpr int kHeld = 4;
constexpr int kGradientHeld = 3;
constexpr std::int64_t kShortNormThreads =
    128;  // of a threadgroup whose rows have a simdgroup or less
// Threads that sum columns: 1 / kSumThreads of those that a device runs at the same time, or fewer
// so that each has kMinNormRows rows to sum.
constexpr std::int64_t kSumThreads = 4;
constexpr std::int64_t kMinNormRows = 8;
constexpr std::int64_t kNormColumnThreads = 128;
constexpr std::int64_t kCombineThreads = 512;
// Elements of threadgroup memory for the reductions of a gradient.
constexpr std::int64_t kReductions = 128;

bool has_input(const Signature& signature, std::size_t i) {
  return i < signature.inputs.size() && !signature.inputs[i].absent;
}

// An optional vector, or in its place `instead`, which is not read then.
StepArgument vector_or(const Signature& signature, std::size_t i, const StepArgument& instead) {
  if (!has_input(signature, i)) return instead;
  return strided_operand(signature.inputs[i], static_cast<int>(i)).argument;
}

std::int64_t epsilon_word(const Signature& signature) {
  const double epsilon = ParamReader(signature.statics).f64();
  if (signature.inputs[0].dtype == DType::f64) return std::bit_cast<std::int64_t>(epsilon);
  return std::bit_cast<std::uint32_t>(static_cast<float>(epsilon));
}

RowSplit norm_split(const TensorSpec& x, int held) {
  return split_tight_rows(row_count(x.shape), x.shape.back(), x.dtype, kMaxNormLanes, held);
}

// The input that an epilogue adds to the result; -1 where there is none.
int added_input(const Signature& signature) {
  for (const Epilogue& step : signature.epilogue) {
    if (step.op == &defs::add_op) return step.input;
  }
  return -1;
}

// kWhole: threads hold their row, which is read once. Else it may be of any length.
template <bool kCentered, bool kWhole>
Prepared prepare_norm_forward(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& x = signature.inputs[0];
  if (element_count(x.shape) == 0) return prepared_steps(std::move(plan));
  const RowAxes axes(x.shape, {&x});
  const RowSplit split = norm_split(x, kHeld);
  const char* const type = dialect_type(x.dtype);
  const StridedOperand from = strided_operand(x, 0);
  const int added = added_input(signature);
  const auto given = [&](int i) {
    return i != added && has_input(signature, static_cast<std::size_t>(i));
  };
  const auto input_or_x = [&](bool is_given, int i) {
    if (!is_given) return from.argument;
    return strided_operand(signature.inputs[static_cast<std::size_t>(i)], i).argument;
  };
  // The kernels of rows that are whole packets take addresses at packets only.
  const auto rows_step = [&](bool packed, bool rare) {
    return KernelCall("norm/norm.metal", "norm_rows",
                      {dtype_struct(x.dtype), dtype_struct(signature.output.dtype),
                       truth(kCentered), truth(given(1)), truth(given(2)), truth(added >= 0),
                       truth(kWhole), truth(packed), std::to_string(split.held), axes.rank()})
        .read(type, "x", from.argument)
        .read(type, "weight", input_or_x(given(1), 1))
        .read(type, "bias", input_or_x(given(2), 2))
        .read(type, "added", input_or_x(added >= 0, added))
        .write(dialect_type(signature.output.dtype), "y", output_argument(signature))
        .constants(NormParams<kRuntimeRank>{
            .split = split.params(),
            .epsilon = epsilon_word(signature),
            .divisor = signature.op == &defs::l2_norm_op ? 1 : split.length,
            .x = {from.base, &axes.shape, &axes.strides[0]}})
        .threadgroup(sum_type(x.dtype), "shared", 64)
        .align_operands(packed ? kPacketBytes : 1)
        .step(*plan, split.groups, split.threads, kMaxNormLanes, rare);
  };
  plan->add_step(has_whole_packets(split.length, axes.strides[0], from.base, x.dtype), rows_step);
  return prepared_steps(std::move(plan));
}

// The steps of a gradient, and what they share.
template <bool kCentered>
class Gradient {
 public:
  explicit Gradient(const Signature& signature)
      : signature_(signature),
        g_(signature.inputs[0]),
        x_(signature.inputs[1]),
        axes_(x_.shape, {&g_, &x_}),
        rows_(element_count(axes_.shape)),
        length_(x_.shape.back()),
        g_at_(strided_operand(g_, 0)),
        x_at_(strided_operand(x_, 1)),
        packed_(has_whole_packets(length_, axes_.strides[0], g_at_.base, x_.dtype) &&
                has_whole_packets(length_, axes_.strides[1], x_at_.base, x_.dtype)) {}

  // `whole`: threads hold their row.
  Prepared prepare(bool whole) {
    std::int64_t count = 0;
    if (rows_ > 0) {
      const RowSplit split = norm_split(x_, kGradientHeld);
      count = whole ? add_rows(split) : add_long_rows(split);
    } else {
      partial_ = sums(1);
    }
    add_combine(count);
    return prepared_steps(plan_);
  }

 private:
  std::int64_t columns() const { return (kCentered ? 2 : 1) * length_; }
  std::int64_t row_bytes() const { return rows_ * length_ * size_of(x_.dtype); }
  int output() const { return static_cast<int>(signature_.inputs.size()); }
  StepArgument sums(std::int64_t elements) {
    return workspace(*plan_, elements * (x_.dtype == DType::f64 ? 8 : 4));
  }
  NormBackwardParams<kRuntimeRank> params(const RowSplit& split, std::int64_t chunk) const {
    return {.split = split.params(),
            .epsilon = epsilon_word(signature_),
            .chunk = chunk,
            .g = {g_at_.base, &axes_.shape, &axes_.strides[0]},
            .x = {x_at_.base, &axes_.shape, &axes_.strides[1]}};
  }

  // The step that writes dx; `result` is what else it writes, `forms` more of its arguments.
  void add_gradient(const char* function, const std::vector<std::string>& forms, const char* result,
                    const StepArgument& left, std::int64_t shared, const RowSplit& split,
                    std::int64_t chunk, std::int64_t groups) {
    const char* const type = dialect_type(x_.dtype);
    const char* const sum = sum_type(x_.dtype);
    // Checks of packets take registers: short rows without them have fewer threads at a time.
    const bool is_short = split.lanes <= kSimdWidth;
    const auto rows_step = [&](bool packed, bool rare) {
      std::vector<std::string> arguments = {dtype_struct(x_.dtype), truth(kCentered),
                                            truth(has_input(signature_, 2))};
      arguments.insert(arguments.end(), forms.begin(), forms.end());
      arguments.insert(arguments.end(), {truth(packed), std::to_string(split.held), axes_.rank()});
      return KernelCall("norm/backward.metal", function, arguments)
          .read(type, "g", g_at_.argument)
          .read(type, "x", x_at_.argument)
          .read(type, "weight", vector_or(signature_, 2, x_at_.argument))
          .write(type, "dx", {StepArgument::From::operand, output(), 0, row_bytes()})
          .write(sum, result, left)
          .constants(params(split, chunk))
          .threadgroup(sum, "shared", shared)
          .align_operands(packed ? kPacketBytes : 1)
          .step(*plan_, {static_cast<std::uint32_t>(groups)}, split.threads,
                is_short && !packed ? kShortNormThreads : kMaxNormLanes, rare);
    };
    plan_->add_step(packed_, rows_step);
  }

  // Both return how many rows of partial sums there are.
  std::int64_t add_rows(const RowSplit& split) {
    const std::int64_t together = split.threads.x / split.lanes;
    const std::int64_t turns = ceil_div(rows_, together);
    const std::int64_t chunk = std::max(
        ceil_div(kMinNormRows, together),
        ceil_div(turns, resident_groups(*signature_.device, kSumThreads * split.threads.x)));
    const std::int64_t count = ceil_div(turns, chunk);
    partial_ = sums(count * columns());
    const bool is_short = split.lanes <= kSimdWidth;
    const std::int64_t kept = kSimdWidth * split.held * (kPacketBytes / size_of(x_.dtype));
    add_gradient("norm_backward_rows", {truth(is_short)}, "partial", partial_,
                 is_short ? (kCentered ? 2 : 1) * kept : kReductions, split, chunk, count);
    return count;
  }

  std::int64_t add_long_rows(const RowSplit& split) {
    const StepArgument scales = sums(3 * rows_);
    add_gradient("norm_backward_long_rows", {}, "scales", scales, kReductions, split, 1,
                 split.groups.x);
    const std::int64_t across = ceil_div(length_, kNormColumnThreads * (16 / size_of(x_.dtype)));
    const std::int64_t groups = std::max<std::int64_t>(
        1, resident_groups(*signature_.device, kSumThreads * kNormColumnThreads) / across);
    const std::int64_t chunk = std::max(kMinNormRows, ceil_div(rows_, groups));
    const std::int64_t count = ceil_div(rows_, chunk);
    partial_ = sums(count * columns());
    const char* const type = dialect_type(x_.dtype);
    const char* const sum = sum_type(x_.dtype);
    plan_->add_step(
        KernelCall("norm/backward.metal", "norm_backward_columns",
                   {dtype_struct(x_.dtype), truth(kCentered), axes_.rank()})
            .read(type, "g", g_at_.argument)
            .read(type, "x", x_at_.argument)
            .read(sum, "scales", scales)
            .write(sum, "partial", partial_)
            .constants(params(split, chunk))
            .step(*plan_, {static_cast<std::uint32_t>(across), static_cast<std::uint32_t>(count)},
                  {kNormColumnThreads}, kNormColumnThreads));
    return count;
  }

  // The gradients of the weight and of the bias: both in one launch, or the one that is wanted.
  void add_combine(std::int64_t count) {
    const bool weight = !signature_.output_at(1).absent;
    const bool bias = kCentered && !signature_.more_outputs.back().absent;
    if (!weight && !bias) return;
    const char* const sum = sum_type(x_.dtype);
    const char* const type = dialect_type(x_.dtype);
    const auto vector = [&](int i) {
      return StepArgument{StepArgument::From::operand, output() + i, 0,
                          length_ * size_of(x_.dtype)};
    };
    const bool both = weight && bias;
    KernelCall call("norm/backward.metal", both ? "norm_combine_both" : "norm_combine",
                    {dtype_struct(x_.dtype)});
    call.read(sum, "partial", partial_);
    if (both) {
      call.write(type, "dweight", vector(1)).write(type, "dbias", vector(2));
    } else {
      call.write(type, "y", vector(weight ? 1 : 2));
    }
    const std::int64_t added = both ? columns() : length_;
    call
        .constants(NormCombineParams{
            .columns = columns(), .parts = count, .first = weight ? 0 : length_, .count = added})
        .threadgroup(sum, "shared", kCombineThreads);
    plan_->add_step(call.step(*plan_, {static_cast<std::uint32_t>(ceil_div(added, kSimdWidth))},
                              {kCombineThreads}, kCombineThreads));
  }

  std::shared_ptr<StepPlan> plan_ = std::make_shared<StepPlan>();
  const Signature& signature_;
  const TensorSpec& g_;
  const TensorSpec& x_;
  RowAxes axes_;
  std::int64_t rows_, length_;
  StridedOperand g_at_, x_at_;
  bool packed_;
  StepArgument partial_;
};

template <bool kCentered, bool kWhole>
Prepared prepare_norm_backward(const Signature& signature) {
  if (signature.inputs[1].shape.back() == 0) return prepared_steps(std::make_shared<StepPlan>());
  return Gradient<kCentered>(signature).prepare(kWhole);
}

// An array of the result's shape and dtype that is added to it.
bool fuses_sum_of_rows(const Signature& signature) {
  if (signature.epilogue.size() != 1 || signature.epilogue[0].op != &defs::add_op) return false;
  const TensorSpec& other = signature.inputs[static_cast<std::size_t>(signature.epilogue[0].input)];
  return other.dtype == signature.inputs[0].dtype && other.dtype == signature.output.dtype &&
         other.shape == signature.inputs[0].shape && other.shape == signature.output.shape &&
         other.strides == contiguous_strides(other.shape);
}

// A cast of a result that is in f32 until then, so that the same is rounded once, or a sum.
bool fuses_cast_or_sum(const Signature& signature) {
  if (fuses_sum_of_rows(signature)) return true;
  const DType result = signature.output.dtype;
  return signature.epilogue.size() == 1 && signature.epilogue[0].op == &defs::cast_op &&
         signature.inputs[0].dtype == DType::f32 && is_float(result) && size_of(result) == 2;
}

template <int kInput, int kMost, bool kWhole>
bool accepts_rows(const Signature& signature) {
  const TensorSpec& x = signature.inputs[kInput];
  return fits_rows(x.shape) && (!kWhole || norm_split(x, kMost).whole);
}

template <bool kCentered, bool kWhole>
constexpr Implementation forward(const OpDef& op) {
  return {.name = kWhole ? "rows" : "long_rows",
          .op = &op,
          .accepts = accepts_rows<0, kHeld, kWhole>,
          .layout = LayoutNeed::last_axis_dense,
          .fuses = fuses_cast_or_sum,
          .prepare = prepare_norm_forward<kCentered, kWhole>,
          .launch = launch_steps};
}

template <bool kCentered, bool kWhole>
constexpr Implementation backward(const OpDef& op) {
  constexpr std::uint32_t kVectors = 0b110;
  return {.name = kWhole ? "rows" : "long_rows",
          .op = &op,
          .accepts = accepts_rows<1, kGradientHeld, kWhole>,
          .layout = LayoutNeed::last_axis_dense,
          .prepare = prepare_norm_backward<kCentered, kWhole>,
          .launch = launch_steps,
          .may_omit = kVectors};
}

constexpr Implementation kNormFamily[] = {
    forward<true, true>(defs::layer_norm_op),
    forward<true, false>(defs::layer_norm_op),
    forward<false, true>(defs::rms_norm_op),
    forward<false, false>(defs::rms_norm_op),
    forward<false, true>(defs::l2_norm_op),
    forward<false, false>(defs::l2_norm_op),
    backward<true, true>(defs::layer_norm_backward_op),
    backward<true, false>(defs::layer_norm_backward_op),
    backward<false, true>(defs::rms_norm_backward_op),
    backward<false, false>(defs::rms_norm_backward_op),
};

}  // namespace

Family norm_family() { return kNormFamily; }

}  // namespace hearth::gpu
