#include "kernels/conv/gathered.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "ops/conv/window.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {

#include "kernels/conv/params.h"

namespace {

constexpr char kConvFile[] = "conv/conv.metal";
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kSliceDepth = 16;  // of a slice of k
// Outputs of a group that are fewer have no use for tiles.
constexpr std::int64_t kFewOutputs = 4;
// Elements of the weight of such a group, each summed by a threadgroup, while they are so few.
constexpr std::int64_t kFewWeights = 128;
// The sums of one share are at least so long, and there are at most so many shares.
constexpr std::int64_t kMinShare = 512;
constexpr std::int64_t kMaxConvShares = 256;
// Threadgroups that a processor has work for.
constexpr std::int64_t kGroupsOfProcessor = 4;

struct Tile {
  std::int64_t m, n;
};
constexpr Tile kTiles[] = {{64, 64}, {16, 64}};

class Gathered {
 public:
  explicit Gathered(const Signature& signature)
      : signature_(signature),
        window_(window_of(signature)),
        axes(window_.axes()),
        is_weight(signature.op == &defs::conv_weight_gradient_op),
        has_classes(signature.op == &defs::conv_input_gradient_op),
        has_bias(signature.inputs.size() > 2 && !signature.inputs[2].absent),
        // The factor that is not gathered is the second input, or the gradient of the result.
        a(strided_operand(signature.inputs[1], 1)),
        b(strided_operand(signature.inputs[0], 0)) {
    set_channels();
    for (int i = 0; i < axes; ++i) set_axis(i);
  }

  std::int64_t k() const { return product(params.k_outer, params.k_extent); }
  std::int64_t n() const { return product(params.n_outer, params.n_extent); }
  std::int64_t classes() const { return has_classes ? product(1, params.classes.count) : 1; }
  bool has_32_bits() const { return is_small_; }
  // That holds the address of every element.
  const char* index() const { return reach_ <= static_cast<double>(kMost) ? "int" : "long"; }

 private:
  static ConvWindow window_of(const Signature& signature) {
    ParamReader statics(signature.statics);
    return ConvWindow(statics);
  }
  template <class T>  // of parameter structs
  std::int64_t product(std::int64_t count, const T* extents) const {
    for (int i = 0; i < axes; ++i) count *= extents[i];
    return count;
  }

  void add_reach(std::int64_t count, std::int64_t step) {
    reach_ += static_cast<double>(count) * std::abs(static_cast<double>(step));
  }

  void set_channels() {
    const TensorSpec& x = signature_.inputs[0];
    const TensorSpec& y = signature_.inputs[1];
    const Shape& out = signature_.output.shape;
    const std::int64_t groups = window_.groups;
    params.groups = groups;
    params.shares = 1;
    params.count = element_count(out);
    params.a_base = a.base;
    params.b_base = b.base;
    params.b_along_k = is_weight ? 1 : 0;
    if (has_bias) {
      params.bias_base = strided_operand(signature_.inputs[2], 2).base;
      params.bias_step = signature_.inputs[2].strides[0];
    }
    const Strides& steps = signature_.output.strides;
    const std::int64_t out_first = steps[0], out_second = steps[1];
    if (is_weight) {  // x, grad -> [out, in / groups, kernel...]
      params.m = out[0] / groups;
      params.k_outer = x.shape[0];
      params.n_outer = out[1];
      params.a_group = params.m * y.strides[1];
      params.a_m = y.strides[1];
      params.a_outer = y.strides[0];
      params.b_group = out[1] * x.strides[1];
      params.b_k_outer = x.strides[0];
      params.b_n_outer = x.strides[1];
      params.c_group = params.m * out_first;
      params.c_m = out_first;
      params.c_outer = out_second;
    } else {  // x or grad, weight -> [batch, channels, positions...]
      const std::int64_t inputs = has_classes ? y.shape[0] / groups : y.shape[1];
      params.m = out[1] / groups;
      params.k_outer = inputs;
      params.n_outer = out[0];
      params.a_group = y.shape[0] / groups * y.strides[0];
      params.a_m = y.strides[has_classes ? 1 : 0];
      params.a_outer = y.strides[has_classes ? 0 : 1];
      params.b_group = inputs * x.strides[1];
      params.b_k_outer = x.strides[1];
      params.b_n_outer = x.strides[0];
      params.c_group = params.m * out_second;
      params.c_m = out_second;
      params.c_outer = out_first;
    }
    is_small_ = params.m <= kMost && params.groups <= kMost;
    add_reach(params.n_outer, params.b_n_outer);
    add_reach(params.k_outer, params.b_k_outer);
    add_reach(params.k_outer, params.a_outer);
  }

  void set_axis(int i) {
    const TensorSpec& x = signature_.inputs[0];
    const TensorSpec& y = signature_.inputs[1];
    const Shape& out = signature_.output.shape;
    const std::int64_t stride = window_.stride[i], dilation = window_.dilation[i];
    const std::int64_t kernel = is_weight ? out[i + 2] : y.shape[i + 2];
    const std::int64_t positions = is_weight     ? y.shape[i + 2]
                                   : has_classes ? x.shape[i + 2]
                                                 : out[i + 2];
    params.extent[i] = x.shape[i + 2];
    params.b_step[i] = x.strides[i + 2];
    params.a_step[i] = y.strides[i + 2];
    params.c_step[i] = signature_.output.strides[i + 2];
    params.first[i] = -window_.before[i];
    params.k_extent[i] = is_weight ? positions : kernel;
    params.n_extent[i] = is_weight ? kernel : positions;
    params.k_move[i] = is_weight ? stride : dilation;
    params.n_move[i] = is_weight ? dilation : stride;
    if (has_classes) set_classes(i, kernel);
    // What a row and a column say of the coordinate, at most.
    const std::int64_t covered = dilation * std::max<std::int64_t>(kernel - 1, 0);
    const std::int64_t walked = stride * std::max<std::int64_t>(positions - 1, 0);
    const std::int64_t coordinate = window_.before[i] + covered + walked + params.extent[i];
    is_small_ = is_small_ && coordinate <= kMost / 2;
    add_reach(2 * coordinate, params.b_step[i]);
    add_reach(params.k_extent[i], params.a_step[i]);
  }

  void set_classes(int i, std::int64_t kernel) {
    const std::int64_t stride = window_.stride[i], dilation = window_.dilation[i];
    const std::int64_t shared = std::gcd(stride, dilation);
    const std::int64_t extent = signature_.output.shape[i + 2];
    ConvClasses& classes = params.classes;
    classes.count[i] = std::min(stride, extent);
    classes.stride[i] = stride;
    classes.dilation[i] = dilation;
    classes.padding[i] = window_.before[i];
    classes.kernel_extent[i] = kernel;
    classes.kernel_step[i] = params.a_step[i];
    classes.kernel_move[i] = stride / shared;
    classes.result_extent[i] = extent;
    classes.result_step[i] = params.c_step[i];
    // Of the longest class; each works out its own.
    params.k_extent[i] = ceil_div(kernel, classes.kernel_move[i]);
    params.n_extent[i] = ceil_div(extent, stride);
    params.k_move[i] = -dilation / shared;
    params.n_move[i] = 1;
    params.a_step[i] *= classes.kernel_move[i];
    params.c_step[i] *= stride;
  }

  const Signature& signature_;
  const ConvWindow window_;
  bool is_small_ = true;
  double reach_ = 0;  // of any address, in elements

 public:
  const int axes;
  const bool is_weight, has_classes, has_bias;
  const StridedOperand a, b;
  ConvParams params = {};
};

std::string word(std::int64_t value) { return std::to_string(value); }

std::uint32_t layers(std::int64_t count) {
  return static_cast<std::uint32_t>(std::min(count, kMaxLayers));
}

const Tile& tile_of(const Gathered& of) {
  return of.params.m <= kTiles[1].m * 2 ? kTiles[1] : kTiles[0];
}

// How many shares of k keep the device busy.
std::int64_t shares_of(const Signature& signature, const Gathered& of, const Tile& tile) {
  const std::int64_t groups =
      ceil_div(of.params.m, tile.m) * ceil_div(of.n(), tile.n) * of.params.groups * of.classes();
  const std::int64_t wanted = kGroupsOfProcessor * processors(*signature.device) / groups;
  return std::clamp<std::int64_t>(std::min(wanted, of.k() / kMinShare), 1, kMaxConvShares);
}

double work_of(const Gathered& of) {
  return product_work(of.params.groups * of.classes(), of.params.m, of.n(), of.k());
}

ConvJoinParams join_params(const Signature& signature, const Gathered& of) {
  const Shape& out = signature.output.shape;
  return {.count = of.params.count,
          .shares = of.params.shares,
          .channels = out[1],
          .inner = signature.output.strides[1],
          .bias_base = of.params.bias_base,
          .bias_step = of.params.bias_step};
}

}  // namespace

bool accepts_gathered(const Signature& signature) {
  if (element_count(signature.output.shape) == 0) return true;
  const Gathered of(signature);
  const std::int64_t turns = of.params.groups * of.classes();
  return of.has_32_bits() && of.k() <= kMost && of.n() <= kMost &&
         turns <= kMost / kMaxConvShares && ceil_div(of.params.m, kTiles[1].m) <= kMaxLayers;
}

bool has_few_outputs(const Signature& signature) {
  if (element_count(signature.output.shape) == 0) return false;
  const Gathered of(signature);
  if (of.params.m > kFewOutputs) return false;
  return !of.is_weight || of.params.m * of.n() <= kFewWeights;
}

std::shared_ptr<StepPlan> implicit_gemm_steps(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return plan;
  Gathered of(signature);
  const DType dtype = signature.output.dtype;
  const std::string type = dialect_type(dtype), sum = sum_type(dtype);
  const Tile& tile = tile_of(of);
  ConvParams& p = of.params;
  p.shares = shares_of(signature, of, tile);
  p.length = ceil_div(ceil_div(of.k(), p.shares), kSliceDepth) * kSliceDepth;
  p.shares = std::max<std::int64_t>(ceil_div(of.k(), std::max<std::int64_t>(p.length, 1)), 1);
  const bool joins = p.shares > 1;
  const StepArgument result = output_argument(signature);
  // What is not there is not read.
  const StepArgument bias = of.has_bias ? input_argument(signature, 2) : of.b.argument;
  const StepArgument sums =
      joins ? workspace(*plan, p.shares * p.count * size_of_dialect_type(sum)) : result;
  const std::string stored = joins ? sum : type;
  const Size3 groups = {static_cast<std::uint32_t>(ceil_div(of.n(), tile.n)),
                        static_cast<std::uint32_t>(ceil_div(p.m, tile.m)),
                        layers(p.groups * of.classes() * p.shares)};
  plan->add_step(KernelCall(kConvFile, "conv_tiles",
                            {type, sum, stored, of.index(), word(of.axes), word(tile.m),
                             word(tile.n), truth(of.has_classes), truth(of.has_bias && !joins)})
                     .read(type, "a", of.a.argument)
                     .read(type, "b", of.b.argument)
                     .read(type, "bias", bias)
                     .write(stored, "c", sums)
                     .constants(p)
                     .threadgroup(sum, "a_tile", tile.m * kSliceDepth)
                     .threadgroup(sum, "b_tile", tile.n * kSliceDepth)
                     .threadgroup(of.index(), "spots", tile.n + 4 * kSliceDepth)
                     .threadgroup("int", "places", of.axes * (tile.n + 2 * kSliceDepth))
                     .work(work_of(of))
                     .step(*plan, groups, {kThreads}, kThreads));
  if (!joins) return plan;
  plan->add_step(KernelCall(kConvFile, "conv_join", {type, sum, truth(of.has_bias)})
                     .read(sum, "parts", sums)
                     .read(type, "bias", bias)
                     .write(type, "c", result)
                     .constants(join_params(signature, of))
                     .step(*plan, groups_for(p.count), {kThreads}, kThreads));
  return plan;
}

void add_conv_bias(StepPlan& plan, const Signature& signature) {
  const Gathered of(signature);
  const DType dtype = signature.output.dtype;
  const std::string type = dialect_type(dtype);
  plan.add_step(KernelCall(kConvFile, "conv_bias", {type, sum_type(dtype)})
                    .read_write(type, "c", output_argument(signature))
                    .read(type, "bias", input_argument(signature, 2))
                    .constants(join_params(signature, of))
                    .step(plan, groups_for(of.params.count), {kThreads}, kThreads));
}

std::shared_ptr<StepPlan> conv_direct_steps(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const Gathered of(signature);
  const DType dtype = signature.output.dtype;
  const std::string type = dialect_type(dtype), sum = sum_type(dtype);
  const ConvParams& p = of.params;
  if (of.is_weight) {
    const std::int64_t lines = p.groups * p.m * of.n();
    plan->add_step(KernelCall(kConvFile, "conv_lines", {type, sum, of.index(), word(of.axes)})
                       .read(type, "a", of.a.argument)
                       .read(type, "b", of.b.argument)
                       .write(type, "c", output_argument(signature))
                       .constants(p)
                       .threadgroup(sum, "sums", kThreads)
                       .work(work_of(of))
                       .step(*plan, {static_cast<std::uint32_t>(lines)}, {kThreads}, kThreads));
    return plan;
  }
  const Size3 groups = {static_cast<std::uint32_t>(ceil_div(of.n(), kThreads)),
                        static_cast<std::uint32_t>(p.m), layers(p.groups * of.classes())};
  plan->add_step(
      KernelCall(kConvFile, "conv_direct",
                 {type, sum, of.index(), word(of.axes), truth(of.has_classes), truth(of.has_bias)})
          .read(type, "a", of.a.argument)
          .read(type, "b", of.b.argument)
          .read(type, "bias", of.has_bias ? input_argument(signature, 2) : of.b.argument)
          .write(type, "c", output_argument(signature))
          .constants(p)
          .work(work_of(of))
          .step(*plan, groups, {kThreads}, kThreads));
  return plan;
}

}  // namespace hearth::gpu
