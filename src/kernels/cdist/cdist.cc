// cdist: kernels/cdist/cdist.metal and kernels/cdist/cdist_mma.metal.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {

#include "kernels/cdist/params.h"

namespace {

// The axes before the last two.
struct CdistBatch {
  CdistBatch(const TensorSpec& a, const TensorSpec& b)
      : shape(a.shape), left(a.strides), right(b.strides) {
    for (int i = 0; i < 2; ++i) {
      shape.erase(shape.rank() - 1);
      left.erase(left.rank() - 1);
      right.erase(right.rank() - 1);
    }
    merge_kernel_axes(&shape, {&left, &right});
  }
  Shape shape;
  Strides left, right;
};

int cdist_sum(double p) {
  if (std::isinf(p)) return kCdistLargest;
  return p == 2 ? kCdistSquares : p == 1 ? kCdistMagnitudes : kCdistPowers;
}

std::int64_t cdist_tiles(const Signature& signature) {
  const Shape& shape = signature.output.shape;
  const std::int64_t m = shape[shape.rank() - 2], n = shape.back();
  const std::int64_t down = ceil_div(m, kCdistTile), across = ceil_div(n, kCdistTile);
  return element_count(shape) / std::max<std::int64_t>(m * n, 1) * down * across;
}

class CdistCall {
 public:
  explicit CdistCall(const Signature& signature)
      : signature_(signature),
        a_(signature.inputs[0]),
        batch_(a_, signature.inputs[1]),
        left_(strided_operand(a_, 0)),
        right_(strided_operand(signature.inputs[1], 1)) {}

  // By differences; `rare`: beside products, for operands whose addresses do not suit these.
  Step differences(StepPlan& plan, bool rare) const {
    const std::int64_t slice = kCdistPitch * (a_.dtype == DType::f64 ? 16 : 32);
    return call("cdist/cdist.metal", "cdist", {std::to_string(cdist_sum(power()))}, 1)
        .threadgroup(sum_type(a_.dtype), "left", slice)
        .threadgroup(sum_type(a_.dtype), "right", slice)
        .step(plan, groups(), {kThreads}, kThreads, rare);
  }
  Step products(StepPlan& plan) const {
    return call("cdist/cdist_mma.metal", "cdist_mma", {}, kPacketBytes)
        .step(plan, groups(), {kProductThreads}, kProductThreads);
  }

 private:
  static constexpr std::int64_t kProductThreads = 128;

  double power() const { return ParamReader(signature_.statics).f64(); }
  Size3 groups() const { return {static_cast<std::uint32_t>(cdist_tiles(signature_))}; }

  KernelCall call(const char* file, const char* function, const std::vector<std::string>& more,
                  std::int64_t alignment) const {
    const TensorSpec& b = signature_.inputs[1];
    const int rank = a_.shape.rank();
    const double p = power();
    const std::int64_t m = a_.shape[rank - 2], n = b.shape[rank - 2];
    const CdistParams<kRuntimeRank> params{
        .rows = m,
        .columns = n,
        .length = a_.shape.back(),
        .tiles_down = ceil_div(m, kCdistTile),
        .tiles_across = ceil_div(n, kCdistTile),
        .power = a_.dtype == DType::f64
                     ? std::bit_cast<std::int64_t>(p)
                     : std::int64_t{std::bit_cast<std::uint32_t>(static_cast<float>(p))},
        .a_row = a_.strides[rank - 2],
        .a_column = a_.strides[rank - 1],
        .b_row = b.strides[rank - 2],
        .b_column = b.strides[rank - 1],
        .a = {left_.base, &batch_.shape, &batch_.left},
        .b = {right_.base, &batch_.shape, &batch_.right}};
    std::vector<std::string> arguments = {dtype_struct(a_.dtype)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.push_back(std::to_string(batch_.shape.rank()));
    const char* const type = dialect_type(a_.dtype);
    KernelCall made(file, function, arguments);
    made.read(type, "a", aligned(left_.argument, alignment))
        .read(type, "b", aligned(right_.argument, alignment))
        .write(type, "y", output_argument(signature_))
        .constants(params)
        .work(product_work(element_count(batch_.shape), m, n, 2 * a_.shape.back()));
    return made;
  }

  const Signature& signature_;
  const TensorSpec& a_;
  const CdistBatch batch_;
  const StridedOperand left_, right_;
};

Prepared prepare_differences(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  plan->add_step(CdistCall(signature).differences(*plan, false));
  return prepared_steps(std::move(plan));
}

Prepared prepare_products(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const CdistCall cdist(signature);
  plan->add_step(true, [&](bool packed, bool rare) {
    return packed ? cdist.products(*plan) : cdist.differences(*plan, rare);
  });
  return prepared_steps(std::move(plan));
}

// Of fewer results than threads a region's sums over simdgroups are faster.
bool accepts_cdist(const Signature& signature) {
  return element_count(signature.output.shape) >= kThreads &&
         cdist_tiles(signature) < std::numeric_limits<std::int32_t>::max();
}

// Products of tensor cores, of rows that are whole packets.
bool accepts_products(const Signature& signature) {
  const TensorSpec& a = signature.inputs[0];
  return accepts_cdist(signature) && (a.dtype == DType::f16 || a.dtype == DType::bf16) &&
         cdist_sum(ParamReader(signature.statics).f64()) == kCdistSquares && a.shape.back() > 0 &&
         a.shape.back() % (kPacketBytes / size_of(a.dtype)) == 0;
}
bool fits_products(const Signature& signature) {
  const auto lies_in_packets = [](const TensorSpec& x) {
    const std::int64_t packet = kPacketBytes / size_of(x.dtype);
    if (x.strides.back() != 1 || strided_operand(x, 0).base % packet != 0) return false;
    for (int i = 0; i + 1 < x.shape.rank(); ++i) {
      if (x.shape[i] > 1 && x.strides[i] % packet != 0) return false;
    }
    return true;
  };
  return lies_in_packets(signature.inputs[0]) && lies_in_packets(signature.inputs[1]);
}

constexpr Implementation kCdistFamily[] = {
    {.name = "products",
     .op = &defs::cdist_op,
     .needs = [](const runtime::DeviceTraits& device) { return device.has_tile_products; },
     .accepts = accepts_products,
     .fits = fits_products,
     .prepare = prepare_products,
     .launch = launch_steps},
    {.name = "tiles",
     .op = &defs::cdist_op,
     .accepts = accepts_cdist,
     .prepare = prepare_differences,
     .launch = launch_steps},
};

}  // namespace

Family cdist_family() { return kCdistFamily; }

}  // namespace hearth::gpu
