// layer_norm, rms_norm and their gradients: kernels/norm/norm.metal and
// kernels/norm/backward.metal.
#include <algorithm>
#include <bit>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/launch/op_kernels.h"
#include "kernels/launch/row_split.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

// Threads of a row, and packets that they hold. Gradients hold twice as much, and the sums of their
// columns.
constexpr std::int64_t kMostLanes = 512;
constexpr int kHeld = 4;
constexpr int kGradientHeld = 3;
constexpr std::int64_t kSimd = 32;
constexpr std::int64_t kShortThreads = 128;  // of a threadgroup whose rows have a simdgroup or less
// Threads that sum columns: what fills a large GPU, or fewer so that each has rows to sum.
constexpr std::int64_t kSumThreads = 65536;
constexpr std::int64_t kFewestRows = 8;
constexpr std::int64_t kColumnThreads = 128;
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

// The kernels of rows that are whole packets take addresses at packets only.
void need_packets(Step* step) {
  for (StepArgument& argument : step->arguments) {
    if (argument.from == StepArgument::From::operand) argument.alignment = kPacketBytes;
  }
}

template <bool kCentered>
Prepared prepare_forward(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& x = signature.inputs[0];
  if (element_count(x.shape) == 0) return prepared_steps(std::move(plan));
  const RowAxes axes(x.shape, {&x});
  const RowSplit split =
      split_tight_rows(element_count(axes.shape), x.shape.back(), x.dtype, kMostLanes, kHeld);
  const char* const type = dialect_type(x.dtype);
  const StridedOperand from = strided_operand(x, 0);
  const int output = static_cast<int>(signature.inputs.size());
  const auto rows_step = [&](bool packed, bool rare) {
    runtime::KernelSource source = library_kernel(
        "norm/norm.metal", "norm_rows",
        {dtype_struct(x.dtype), dtype_struct(signature.output.dtype), truth(kCentered),
         truth(has_input(signature, 1)), truth(has_input(signature, 2)), truth(split.whole),
         truth(packed), std::to_string(split.held), axes.rank()},
        {{Kind::read, type, "x"},
         {Kind::read, type, "weight"},
         {Kind::read, type, "bias"},
         {Kind::write, dialect_type(signature.output.dtype), "y"},
         {Kind::constant, "NormParams<" + axes.rank() + ">", "p"},
         {Kind::threadgroup, sum_type(x.dtype), "shared", 64}},
        kMostLanes);
    Step step;
    step.kernel = &plan->add_kernel(std::move(source), rare);
    step.groups = split.groups;
    step.threads = split.threads;
    split.append_words(&step.constants);
    step.constants.push_back(epsilon_word(signature));
    append_axes(axes.shape, axes.strides[0], from.base, &step.constants);
    step.arguments = {from.argument, vector_or(signature, 1, from.argument),
                      vector_or(signature, 2, from.argument),
                      strided_operand(signature.output, output).argument, kConstants};
    if (packed) need_packets(&step);
    return step;
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

  Prepared prepare() {
    std::int64_t count = 0;
    if (rows_ > 0) {
      const RowSplit split = split_tight_rows(rows_, length_, x_.dtype, kMostLanes, kGradientHeld);
      count = split.whole ? add_rows(split) : add_long_rows(split);
    } else {
      partial_ = workspace(1);
    }
    add_combine(count);
    return prepared_steps(plan_);
  }

 private:
  std::int64_t columns() const { return (kCentered ? 2 : 1) * length_; }
  std::int64_t row_bytes() const { return rows_ * length_ * size_of(x_.dtype); }
  int output() const { return static_cast<int>(signature_.inputs.size()); }
  StepArgument workspace(std::int64_t elements) {
    const std::int64_t bytes = elements * (x_.dtype == DType::f64 ? 8 : 4);
    return {StepArgument::From::workspace, 0, plan_->add_workspace(bytes), bytes};
  }
  std::vector<std::int64_t> constants(const RowSplit& split, std::int64_t chunk) const {
    std::vector<std::int64_t> words;
    split.append_words(&words);
    words.push_back(epsilon_word(signature_));
    words.push_back(chunk);
    append_axes(axes_.shape, axes_.strides[0], g_at_.base, &words);
    append_axes(axes_.shape, axes_.strides[1], x_at_.base, &words);
    return words;
  }
  KernelParameter params() const {
    return {Kind::constant, "NormBackwardParams<" + axes_.rank() + ">", "p"};
  }

  // The step that writes dx; `result` is what it leaves beside, `forms` more of its arguments.
  void add_gradient(const char* function, const std::vector<std::string>& forms, const char* result,
                    const StepArgument& left, std::int64_t shared, const RowSplit& split,
                    std::int64_t chunk, std::int64_t groups) {
    const char* const type = dialect_type(x_.dtype);
    const char* const sum = sum_type(x_.dtype);
    // Checks of packets take registers: short rows without them have fewer threads at a time.
    const bool is_short = split.lanes <= kSimd;
    const auto rows_step = [&](bool packed, bool rare) {
      std::vector<std::string> arguments = {dtype_struct(x_.dtype), truth(kCentered),
                                            truth(has_input(signature_, 2))};
      arguments.insert(arguments.end(), forms.begin(), forms.end());
      arguments.insert(arguments.end(), {truth(packed), std::to_string(split.held), axes_.rank()});
      runtime::KernelSource source =
          library_kernel("norm/backward.metal", function, arguments,
                         {{Kind::read, type, "g"},
                          {Kind::read, type, "x"},
                          {Kind::read, type, "weight"},
                          {Kind::write, type, "dx"},
                          {Kind::write, sum, result},
                          params(),
                          {Kind::threadgroup, sum, "shared", shared}},
                         is_short && !packed ? kShortThreads : kMostLanes);
      Step step;
      step.kernel = &plan_->add_kernel(std::move(source), rare);
      step.groups = {static_cast<std::uint32_t>(groups)};
      step.threads = split.threads;
      step.constants = constants(split, chunk);
      step.arguments = {g_at_.argument,
                        x_at_.argument,
                        vector_or(signature_, 2, x_at_.argument),
                        {StepArgument::From::operand, output(), 0, row_bytes()},
                        left,
                        kConstants};
      if (packed) need_packets(&step);
      return step;
    };
    plan_->add_step(packed_, rows_step);
  }

  // Both return how many rows of partial sums there are.
  std::int64_t add_rows(const RowSplit& split) {
    const std::int64_t together = split.threads.x / split.lanes;
    const std::int64_t turns = parts(rows_, together);
    const std::int64_t chunk =
        std::max(parts(kFewestRows, together), parts(turns, kSumThreads / split.threads.x));
    const std::int64_t count = parts(turns, chunk);
    partial_ = workspace(count * columns());
    const bool is_short = split.lanes <= kSimd;
    const std::int64_t sums = kSimd * split.held * (kPacketBytes / size_of(x_.dtype));
    add_gradient("norm_backward_rows", {truth(is_short)}, "partial", partial_,
                 is_short ? (kCentered ? 2 : 1) * sums : kReductions, split, chunk, count);
    return count;
  }

  std::int64_t add_long_rows(const RowSplit& split) {
    const StepArgument scales = workspace(3 * rows_);
    add_gradient("norm_backward_long_rows", {}, "scales", scales, kReductions, split, 1,
                 split.groups.x);
    const std::int64_t across = parts(length_, kColumnThreads * (16 / size_of(x_.dtype)));
    const std::int64_t groups = std::max<std::int64_t>(1, kSumThreads / kColumnThreads / across);
    const std::int64_t chunk = std::max(kFewestRows, parts(rows_, groups));
    const std::int64_t count = parts(rows_, chunk);
    partial_ = workspace(count * columns());
    const char* const type = dialect_type(x_.dtype);
    const char* const sum = sum_type(x_.dtype);
    Step step;
    step.kernel =
        &plan_->add_kernel(library_kernel("norm/backward.metal", "norm_backward_columns",
                                          {dtype_struct(x_.dtype), truth(kCentered), axes_.rank()},
                                          {{Kind::read, type, "g"},
                                           {Kind::read, type, "x"},
                                           {Kind::read, sum, "scales"},
                                           {Kind::write, sum, "partial"},
                                           params()},
                                          kColumnThreads));
    step.groups = {static_cast<std::uint32_t>(across), static_cast<std::uint32_t>(count)};
    step.threads = {kColumnThreads};
    step.constants = constants(split, chunk);
    step.arguments = {g_at_.argument, x_at_.argument, scales, partial_, kConstants};
    plan_->add_step(std::move(step));
    return count;
  }

  // The gradients of the weight and of the bias: both at once, or the one that is wanted.
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
    Step step;
    std::vector<KernelParameter> parameters = {{Kind::read, sum, "partial"}};
    step.arguments = {partial_};
    if (both) {
      parameters.insert(parameters.end(),
                        {{Kind::write, type, "dweight"}, {Kind::write, type, "dbias"}});
      step.arguments.insert(step.arguments.end(), {vector(1), vector(2)});
    } else {
      parameters.push_back({Kind::write, type, "y"});
      step.arguments.push_back(vector(weight ? 1 : 2));
    }
    parameters.insert(parameters.end(), {{Kind::constant, "NormCombineParams", "p"},
                                         {Kind::threadgroup, sum, "shared", kCombineThreads}});
    step.arguments.push_back(kConstants);
    const std::int64_t added = both ? columns() : length_;
    step.kernel = &plan_->add_kernel(
        library_kernel("norm/backward.metal", both ? "norm_combine_both" : "norm_combine",
                       {dtype_struct(x_.dtype)}, std::move(parameters), kCombineThreads));
    step.groups = {static_cast<std::uint32_t>(parts(added, kSimd))};
    step.threads = {kCombineThreads};
    step.constants = {columns(), count, weight ? 0 : length_, added};
    plan_->add_step(std::move(step));
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

template <bool kCentered>
Prepared prepare_backward(const Signature& signature) {
  if (signature.inputs[1].shape.back() == 0) return prepared_steps(std::make_shared<StepPlan>());
  return Gradient<kCentered>(signature).prepare();
}

// Of a result that is in f32 until then, so that the same is rounded once.
bool fuses_cast(const Signature& signature) {
  const DType result = signature.output.dtype;
  return signature.epilogue.size() == 1 && signature.epilogue[0].op == &defs::cast_op &&
         signature.inputs[0].dtype == DType::f32 && is_float(result) && size_of(result) == 2;
}

template <int kInput>
bool accepts(const Signature& signature) {
  return fits_rows(signature.inputs[kInput].shape);
}

}  // namespace

void add_norm_kernels(KernelTable& table) {
  const auto add = [&table](const OpDef& op, bool (*takes)(const Signature&),
                            Prepared (*prepare)(const Signature&),
                            bool (*fuses)(const Signature&) = nullptr, std::uint32_t may_omit = 0) {
    table.add({.op = &op,
               .accepts = takes,
               .layout = LayoutNeed::last_axis_dense,
               .fuses = fuses,
               .prepare = prepare,
               .launch = launch_steps,
               .may_omit = may_omit});
  };
  constexpr std::uint32_t kVectors = 0b110;
  add(defs::layer_norm_op, accepts<0>, prepare_forward<true>, fuses_cast);
  add(defs::rms_norm_op, accepts<0>, prepare_forward<false>, fuses_cast);
  add(defs::layer_norm_backward_op, accepts<1>, prepare_backward<true>, nullptr, kVectors);
  add(defs::rms_norm_backward_op, accepts<1>, prepare_backward<false>, nullptr, kVectors);
}

}  // namespace hearth::gpu
