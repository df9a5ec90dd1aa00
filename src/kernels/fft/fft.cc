// Fourier transforms: kernels/fft/fft.metal.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/dialect_types.h"
#include "core/integer_math.h"
#include "kernels/fft/lengths.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {

#include "kernels/fft/params.h"

namespace fourier {
namespace {

constexpr const char* kFile = "fft/fft.metal";
// Points of a threadgroup, at least, where lines are shorter.
constexpr std::int64_t kFewPoints = 1024;
// Lines that are read or written side by side, where there is memory for them.
constexpr std::int64_t kNeighbours = 8;

// Positions of lines have 32 bits.
constexpr std::int64_t kMostLines = std::int64_t{1} << 31;

enum class Transform { complex, real, real_inverse };

// Lines that a step reads; strides are over the lines' shape. `load` is "Complex" of the text's
// FftComplex and FftChirpedComplex.
struct Source {
  const char* load;
  StepArgument re, im;
  std::int64_t re_base = 0, im_base = 0;
  Strides re_strides, im_strides;
  std::int64_t re_step = 1, im_step = 1;
};
// Lines that it writes, some elements of each.
struct Target {
  StepArgument re, im;
  Strides strides;
  std::int64_t step = 1, re_first = 0, im_first = 0, re_count = 0, im_count = 0;
};
struct Pair {
  StepArgument re, im;
};
// A launch: lines of `points` in an operand's lines of rows * columns.
struct Pass {
  std::int64_t points, split = 1;
  std::int64_t in_part = 0, in_scale = 1, out_part = 0, out_scale = 1;
};

// The kernels of passes.
enum class Work { lines, real_lines, filtered, convolved };
struct PassKernel {
  Work work = Work::lines;
  const char* store = "Plain";  // "Plain" of FftPlain, of Work::lines
  bool chirped = false;
  const Pair* filter = nullptr;
};

class Steps {
 public:
  Steps(const Signature& signature, Transform transform)
      : signature_(signature),
        transform_(transform),
        dtype_(signature.inputs[0].dtype),
        type_(dialect_type(dtype_)),
        limits_(*signature.device, dtype_),
        plan_(std::make_shared<StepPlan>()) {}

  Prepared prepared() {
    if (element_count(signature_.output.shape) > 0) add();
    return prepared_steps(std::move(plan_));
  }

 private:
  void add() {
    const int axis = axis_of(signature_);
    const TensorSpec& re = signature_.inputs.front();
    const TensorSpec& im = signature_.inputs.back();
    const Shape& out = signature_.output.shape;
    Strides to = contiguous_strides(out), re_strides = re.strides, im_strides = im.strides;
    const std::int64_t to_step = to[axis];
    shape_ = re.shape;
    shape_[axis] = 1;
    to[axis] = re_strides[axis] = im_strides[axis] = 0;
    lines_ = element_count(shape_);
    merge_kernel_axes(&shape_, {&re_strides, &im_strides, &to});
    const StridedOperand first = strided_operand(re, 0);
    const int last = static_cast<int>(signature_.inputs.size()) - 1;
    const StridedOperand second = strided_operand(im, last);
    Source source = {"Complex",  first.argument, second.argument,  first.base,      second.base,
                     re_strides, im_strides,     re.strides[axis], im.strides[axis]};
    Target target = result(to, to_step);
    target.re_count = signature_.output.absent ? 0 : out[axis];
    const bool has_im = signature_.output_count() > 1 && !signature_.output_at(1).absent;
    target.im_count = has_im ? out[axis] : 0;
    if (transform_ == Transform::complex) return add_complex(source, target, out[axis]);
    if (transform_ == Transform::real) return add_real(source, target, re.shape[axis]);
    add_real_inverse(source, target, out[axis]);
  }

  // Where one result is absent the other one stands for it, and nothing is written.
  Target result(const Strides& strides, std::int64_t step) const {
    const bool one = signature_.output_count() == 1;
    const int re = !one && signature_.output.absent ? 1 : 0;
    const int im = one || signature_.output_at(1).absent ? 0 : 1;
    return {output_argument(signature_, re), output_argument(signature_, im), strides, step};
  }

  void add_complex(Source source, Target target, std::int64_t n) {
    ParamReader statics(signature_.statics);
    statics.i64();
    if (statics.boolean()) {
      std::swap(source.re, source.im);
      std::swap(source.re_base, source.im_base);
      std::swap(source.re_strides, source.im_strides);
      std::swap(source.re_step, source.im_step);
      std::swap(target.re, target.im);
      std::swap(target.re_count, target.im_count);
    }
    add_transform(source, target, n);
  }

  void add_real(Source source, Target target, std::int64_t n) {
    if (n % 2 != 0) {
      source.load = "Real";
      return add_transform(source, target, n);
    }
    const std::int64_t half = n / 2;
    source.im_base += source.im_step;
    source.re_step = source.im_step *= 2;
    if (Length(half, limits_).method == Method::mixed_radix) {
      return add_pass(source, target, {half}, {.work = Work::real_lines}, half);
    }
    const Pair transformed = add_workspace(lines_ * half);
    Target between = {transformed.re, transformed.im, dense_lines(half)};
    between.re_count = between.im_count = half;
    add_transform(source, between, half);
    KernelCall call(kFile, "fft_bins_of", {dtype_struct(dtype_), rank()});
    call.read(type_, "re", transformed.re)
        .read(type_, "im", transformed.im)
        .write(type_, "to_re", target.re)
        .write(type_, "to_im", target.im)
        .constants(FftBinsParams<kRuntimeRank>{.lines = lines_,
                                               .points = half,
                                               .out_step = target.step,
                                               .re_count = target.re_count,
                                               .im_count = target.im_count,
                                               .to = {0, &shape_, &target.strides}});
    plan_->add_step(call.step(*plan_, groups_for(lines_ * (half / 2 + 1)), {kThreads}, kThreads));
  }

  void add_real_inverse(Source source, Target target, std::int64_t n) {
    if (n % 2 != 0) {
      source.load = "Mirrored";
      target.im = target.re;
      target.im_count = n;
      target.re_count = 0;
      return add_transform(source, target, n);
    }
    source.load = "Halved";
    target.im = target.re;
    target.re_first = target.step;
    target.step *= 2;
    target.re_count = target.im_count = n / 2;
    add_transform(source, target, n / 2);
  }

  // ---- One transform

  void add_transform(const Source& source, const Target& target, std::int64_t n) {
    const Length length(n, limits_);
    if (length.method != Method::bluestein) return add_smooth(source, target, length, {}, n);
    const Length padded(length.padded, limits_);
    const Pair filter = add_workspace(padded.points);
    const std::int64_t lines = std::exchange(lines_, 1);
    Source chirp = source;
    chirp.load = "Filter";
    add_smooth(chirp, whole_lines(filter, padded.points), padded, {}, n);
    lines_ = lines;
    if (padded.method == Method::mixed_radix) {
      return add_pass(source, target, {padded.points},
                      {.work = Work::convolved, .chirped = true, .filter = &filter}, n);
    }
    const Pair spectrum = add_workspace(lines_ * padded.points);
    add_smooth(source, whole_lines(spectrum, padded.points), padded,
               {.work = Work::filtered, .chirped = true, .filter = &filter}, n);
    add_smooth(dense_source(spectrum, padded.points), target, padded, {.store = "Unchirped"}, n);
  }

  // `whole` is the length of the operands' lines, where that is another.
  void add_smooth(const Source& source, const Target& target, const Length& length,
                  const PassKernel& kernel, std::int64_t whole) {
    if (length.method == Method::mixed_radix) {
      return add_pass(source, target, {length.points}, kernel, whole);
    }
    const Pair twiddled = add_workspace(lines_ * length.points);
    const std::int64_t rows = length.rows, columns = length.columns;
    add_pass(source, whole_lines(twiddled, length.points),
             {.points = rows,
              .split = columns,
              .in_part = 1,
              .in_scale = columns,
              .out_part = 1,
              .out_scale = columns},
             {.store = "Column", .chirped = kernel.chirped}, whole);
    PassKernel last = kernel;
    last.chirped = false;
    add_pass(dense_source(twiddled, length.points), target,
             {.points = columns,
              .split = rows,
              .in_part = columns,
              .in_scale = 1,
              .out_part = 1,
              .out_scale = rows},
             last, whole);
  }

  void add_pass(const Source& source, const Target& target, const Pass& pass,
                const PassKernel& kernel, std::int64_t whole) {
    const bool in =
        reads_together(source.re_strides, source.re_step, pass.split, pass.in_part, pass.in_scale);
    const bool out =
        reads_together(target.strides, target.step, pass.split, pass.out_part, pass.out_scale);
    const std::int64_t count = lines_ * pass.split;
    const int factor = factor_of(pass.points);
    const std::int64_t most = limits_.points(factor);
    std::int64_t points = std::max(ceil_power_of_two(pass.points), kFewPoints);
    if (in || out) points = std::max(points, ceil_power_of_two(pass.points * kNeighbours));
    points = std::min(points, most);
    const std::int64_t lanes = ceil_div(pass.points, kFftThreadPoints);
    const std::int64_t group_lines =
        std::min({points / pass.points,
                  std::max<std::int64_t>(points / kFftThreadPoints / lanes, 1), count});
    const FftParams<kRuntimeRank> params{.lines = count,
                                         .length = pass.points,
                                         .group_lines = group_lines,
                                         .line_threads = lanes,
                                         .factors = stages_of(pass.points),
                                         .split = pass.split,
                                         .in_part = pass.in_part,
                                         .in_scale = pass.in_scale,
                                         .out_part = pass.out_part,
                                         .out_scale = pass.out_scale,
                                         .by_lines = divisor(group_lines),
                                         .by_length = divisor(pass.points),
                                         .by_pairs = divisor(pass.points / 2 + 1),
                                         .by_split = divisor(pass.split),
                                         .whole = whole,
                                         .lines_together = (in ? 1 : 0) + (out ? 2 : 0),
                                         .re_step = source.re_step,
                                         .im_step = source.im_step,
                                         .out_step = target.step,
                                         .out_re = target.re_first,
                                         .out_im = target.im_first,
                                         .re_count = target.re_count,
                                         .im_count = target.im_count,
                                         .from_re = {source.re_base, &shape_, &source.re_strides},
                                         .from_im = {source.im_base, &shape_, &source.im_strides},
                                         .to = {0, &shape_, &target.strides}};
    KernelCall call = pass_kernel(kernel, source.load, factor,
                                  has_outer_eights(pass.points) && !in && !out, points);
    call.read(type_, "re", source.re).read(type_, "im", source.im);
    if (kernel.filter != nullptr) {
      call.read(type_, "filter_re", kernel.filter->re).read(type_, "filter_im", kernel.filter->im);
    }
    const std::int64_t threads = ceil_div(group_lines * lanes, kSimdWidth) * kSimdWidth;
    plan_->add_step(call.write(type_, "to_re", target.re)
                        .write(type_, "to_im", target.im)
                        .constants(params)
                        .threadgroup(type_, "memory", memory_words(points))
                        .step(*plan_, {static_cast<std::uint32_t>(ceil_div(count, group_lines))},
                              {static_cast<std::uint32_t>(threads)},
                              std::max(points / kFftThreadPoints, kSimdWidth)));
  }

  KernelCall pass_kernel(const PassKernel& kernel, const char* load, int factor, bool direct,
                         std::int64_t points) const {
    const std::string read = (kernel.chirped ? "FftChirped" : "Fft") + std::string(load);
    const std::string kind = std::to_string(factor), most = std::to_string(points);
    switch (kernel.work) {
      case Work::lines:
        return {kFile,
                "fft_lines",
                {dtype_struct(dtype_), read, "Fft" + std::string(kernel.store), kind, truth(direct),
                 most, rank()}};
      case Work::real_lines:
        return {kFile, "fft_real_lines", {dtype_struct(dtype_), kind, truth(direct), most, rank()}};
      case Work::filtered:
        return {kFile, "fft_filtered", {dtype_struct(dtype_), read, kind, most, rank()}};
      case Work::convolved:
        break;
    }
    return {kFile, "fft_convolved", {dtype_struct(dtype_), read, most, rank()}};
  }

  // ---- Lines in memory

  // Whether neighbouring lines are nearer than the elements of a line.
  bool reads_together(const Strides& strides, std::int64_t step, std::int64_t split,
                      std::int64_t part, std::int64_t scale) const {
    if (split > 1) return part < scale;
    const std::int64_t lines = strides.back() < 0 ? -strides.back() : strides.back();
    return shape_.back() > 1 && lines < (step < 0 ? -step : step);
  }

  std::string rank() const { return std::to_string(shape_.rank()); }
  Pair add_workspace(std::int64_t count) {
    const std::int64_t bytes = count * size_of(dtype_);
    const StepArgument re = workspace(*plan_, bytes);
    return {re, workspace(*plan_, bytes)};
  }
  // Lines of n, one after the other.
  Strides dense_lines(std::int64_t n) const {
    Strides strides = contiguous_strides(shape_);
    for (std::int64_t& stride : strides) stride *= n;
    return strides;
  }
  Target whole_lines(const Pair& memory, std::int64_t n) const {
    Target target = {memory.re, memory.im, dense_lines(n)};
    target.re_count = target.im_count = n;
    return target;
  }
  Source dense_source(const Pair& memory, std::int64_t n) const {
    return {"Complex", memory.re, memory.im, 0, 0, dense_lines(n), dense_lines(n)};
  }

  const Signature& signature_;
  Transform transform_;
  DType dtype_;
  std::string type_;
  Limits limits_;
  std::shared_ptr<StepPlan> plan_;
  Shape shape_;  // of the operands' lines
  std::int64_t lines_ = 0;
};

template <Transform transform, Method method>
bool accepts(const Signature& signature) {
  const DType dtype = signature.inputs[0].dtype;
  if (dtype == DType::f64 && !signature.device->has_f64) return false;
  const Shape& shape =
      transform == Transform::real_inverse ? signature.output.shape : signature.inputs[0].shape;
  const std::int64_t n = shape[axis_of(signature)];
  if (element_count(shape) == 0) return method == Method::mixed_radix;
  const bool halved = transform != Transform::complex && n % 2 == 0;
  const Length length(halved ? n / 2 : n, Limits(*signature.device, dtype));
  return length.method == method && element_count(shape) / n < kMostLines / length.most_parts();
}

template <Transform transform>
Prepared prepare(const Signature& signature) {
  return Steps(signature, transform).prepared();
}

template <Transform transform, Method method>
constexpr Implementation of_method(const char* name, const OpDef& op) {
  return {.name = name,
          .op = &op,
          .accepts = accepts<transform, method>,
          .prepare = prepare<transform>,
          .launch = launch_steps,
          .may_omit = transform == Transform::real_inverse ? 0u : 0b11u};
}

constexpr Implementation kFamily[] = {
    of_method<Transform::complex, Method::mixed_radix>("mixed_radix", defs::fft_op),
    of_method<Transform::complex, Method::passes>("passes", defs::fft_op),
    of_method<Transform::complex, Method::bluestein>("bluestein", defs::fft_op),
    of_method<Transform::real, Method::mixed_radix>("mixed_radix", defs::rfft_op),
    of_method<Transform::real, Method::passes>("passes", defs::rfft_op),
    of_method<Transform::real, Method::bluestein>("bluestein", defs::rfft_op),
    of_method<Transform::real_inverse, Method::mixed_radix>("mixed_radix", defs::irfft_op),
    of_method<Transform::real_inverse, Method::passes>("passes", defs::irfft_op),
    of_method<Transform::real_inverse, Method::bluestein>("bluestein", defs::irfft_op),
};

}  // namespace
}  // namespace fourier

Family fft_family() { return fourier::kFamily; }

}  // namespace hearth::gpu
