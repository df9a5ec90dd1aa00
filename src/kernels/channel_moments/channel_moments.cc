// channel_moments and channel_sums: kernels/channel_moments/channel_moments.metal.
#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "codegen/dialect_types.h"
#include "graph/channels_last.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {

#include "kernels/channel_moments/params.h"

namespace channel_moments {
namespace {

constexpr const char* kFile = "channel_moments/channel_moments.metal";
constexpr std::int64_t kCombineThreads = 512;
static_assert(kCombineChannels == 1 << kCombineChannelBits);
constexpr std::int64_t kPartValues = 3;  // elements of a ChannelPart
constexpr std::int64_t kWidePacket = 8;  // elements: their sums take most of the registers
// Units that a thread has at least, in turns of what it loads at once.
constexpr std::int64_t kMinTurns = 2;

// x and, for sums, grad: inputs [0, count).
template <bool kMoments>
constexpr int kArrays = kMoments ? 1 : 2;

template <bool kMoments>
bool fits_innermost(const Signature& signature) {
  for (std::size_t i = 0; i < kArrays<kMoments>; ++i) {
    const TensorSpec& x = signature.inputs[i];
    if (!has_channels_innermost(x.shape, x.strides)) return false;
  }
  return true;
}

// Positions in a channel have 32 bits.
bool accepts_channels(const Signature& signature) {
  const Shape& shape = signature.inputs[0].shape;
  const std::int64_t count = element_count(shape);
  return count > 0 && count / shape[1] < std::numeric_limits<std::int32_t>::max() / 2 &&
         shape[1] < std::numeric_limits<std::int32_t>::max() / 2;
}

template <bool kMoments, bool kInnermost>
class Call {
 public:
  explicit Call(const Signature& signature)
      : signature_(signature),
        x_(signature.inputs[kArrays<kMoments> - 1]),
        sum_(sum_type(x_.dtype)),
        channels_(x_.shape[1]),
        count_(element_count(x_.shape) / channels_),
        inner_(count_ / x_.shape[0]),
        packet_(kPacketBytes / size_of(x_.dtype)),
        packed_((kInnermost ? channels_ : inner_) % packet_ == 0) {}

  Prepared prepare() {
    const std::int64_t unit = packed_ ? packet_ : 1;
    chunk_ = chunk_for(unit);
    chunks_ = ceil_div(count_, chunk_);
    const std::int64_t bytes = sum_bytes(x_.dtype);
    partial_ = workspace(*plan_, (2 * chunks_ + 1) * channels_ * bytes);
    plan_->add_step(packed_, [&](bool packed, bool rare) { return parts_step(packed, rare); });
    add_combine();
    return prepared_steps(plan_);
  }

 private:
  // Threads along channels, of those that are innermost.
  std::int64_t wide(std::int64_t unit) const {
    if (!kInnermost) return 1;
    return std::min(ceil_power_of_two(ceil_div(channels_, unit)), kSimdWidth);
  }
  std::int64_t groups(std::int64_t unit) const {
    return kInnermost ? ceil_div(channels_, unit * wide(unit)) : channels_;
  }
  // Units that a thread loads at once: few enough for its registers.
  static std::int64_t unroll(std::int64_t unit) {
    if (unit == 1) return 8;
    return kMoments && unit < kWidePacket ? 4 : 2;
  }
  // Elements of a channel that a threadgroup has: half of the threads that a device runs at a time
  // are busy, as many as have the registers.
  std::int64_t chunk_for(std::int64_t unit) const {
    const std::int64_t across = kInnermost ? 1 : unit;
    const std::int64_t turn = kThreads / wide(unit) * unroll(unit);
    const std::int64_t wanted =
        std::max<std::int64_t>(resident_groups(*signature_.device, 2 * kThreads) / groups(unit), 1);
    const std::int64_t units = count_ / across;
    const std::int64_t chunks =
        std::clamp<std::int64_t>(wanted, 1, ceil_div(units, kMinTurns * turn));
    return ceil_div(units, chunks) * across;
  }

  Step parts_step(bool packed, bool rare) {
    const std::int64_t unit = packed ? packet_ : 1;
    const std::int64_t across = kInnermost ? 1 : unit;
    const char* const type = dialect_type(x_.dtype);
    std::vector<std::string> arguments = {dtype_struct(x_.dtype), truth(kInnermost),
                                          std::to_string(unit), std::to_string(unroll(unit))};
    if (!kMoments) {
      arguments.insert(arguments.begin() + 1, dtype_struct(signature_.inputs[2].dtype));
    }
    KernelCall call(kFile, kMoments ? "channel_moments" : "channel_sums", arguments);
    const auto array = [&](int i) {
      return aligned(input_argument(signature_, i), packed ? kPacketBytes : 1);
    };
    if (!kMoments) call.read(type, "g", array(0));
    call.read(type, "x", array(kArrays<kMoments> - 1));
    StridedOperand mean;
    if (!kMoments) {
      mean = strided_operand(signature_.inputs[2], 2);
      call.read(dialect_type(signature_.inputs[2].dtype), "mean", mean.argument);
    }
    const std::int64_t across_threads = wide(unit), per = inner_ / across;
    call.write(sum_, "partial", partial_)
        .constants(
            ChannelParams{.channels = channels_,
                          .step = kInnermost ? 1 : inner_,
                          .units = count_ / across,
                          .chunk = chunk_ / across,
                          .wide = across_threads,
                          .wide_bits = std::countr_zero(static_cast<std::uint64_t>(across_threads)),
                          .per = divisor(per),
                          .outer = kInnermost ? channels_ : channels_ * inner_,
                          .inner = across,
                          .mean_base = mean.base,
                          .mean_step = kMoments ? 0 : signature_.inputs[2].strides[0]})
        .threadgroup(sum_, "shared", kPartValues * (kInnermost ? unit : 1) * kThreads);
    return call.step(
        *plan_, {static_cast<std::uint32_t>(groups(unit)), static_cast<std::uint32_t>(chunks_)},
        {kThreads}, kThreads, rare);
  }

  void add_combine() {
    KernelCall call(kFile, kMoments ? "channel_moments_combine" : "channel_sums_combine", {sum_});
    call.read(sum_, "partial", partial_)
        .write(sum_, kMoments ? "mean" : "sum", output_argument(signature_, 0))
        .write(sum_, kMoments ? "variance" : "products", output_argument(signature_, 1))
        .constants(ChannelCombineParams{
            .channels = channels_, .chunks = chunks_, .count = count_, .chunk = chunk_})
        .threadgroup(sum_, "shared", kPartValues * kCombineThreads);
    const std::int64_t threads =
        std::clamp(kCombineChannels * floor_power_of_two(chunks_), kSimdWidth, kCombineThreads);
    plan_->add_step(call.step(*plan_,
                              {static_cast<std::uint32_t>(ceil_div(channels_, kCombineChannels))},
                              {static_cast<std::uint32_t>(threads)}, kCombineThreads));
  }

  const Signature& signature_;
  const TensorSpec& x_;
  const char* const sum_;
  const std::int64_t channels_, count_, inner_;  // elements of a channel; of one in a sample
  const std::int64_t packet_;                    // elements
  const bool packed_;
  std::int64_t chunk_ = 1, chunks_ = 1;
  StepArgument partial_;
  std::shared_ptr<StepPlan> plan_ = std::make_shared<StepPlan>();
};

template <bool kMoments, bool kInnermost>
Prepared prepare_channels(const Signature& signature) {
  return Call<kMoments, kInnermost>(signature).prepare();
}

template <bool kMoments>
constexpr Implementation innermost(const OpDef& op) {
  return {.name = "columns",
          .op = &op,
          .accepts = accepts_channels,
          .fits = fits_innermost<kMoments>,
          .prepare = prepare_channels<kMoments, true>,
          .launch = launch_steps};
}
template <bool kMoments>
constexpr Implementation outermost(const OpDef& op) {
  return {.name = "rows",
          .op = &op,
          .accepts = accepts_channels,
          .layout = LayoutNeed::dense,
          .prepare = prepare_channels<kMoments, false>,
          .launch = launch_steps};
}

constexpr Implementation kFamily[] = {
    innermost<true>(defs::channel_moments_op),
    outermost<true>(defs::channel_moments_op),
    innermost<false>(defs::channel_sums_op),
    outermost<false>(defs::channel_sums_op),
};

}  // namespace
}  // namespace channel_moments

Family channel_moments_family() { return channel_moments::kFamily; }

}  // namespace hearth::gpu
