#include <algorithm>
#include <string>

#include "core/throw_as.h"
#include "hearth/nn/attention.h"
#include "hearth/ops.h"

namespace hearth {
inline namespace v0 {
namespace nn {
namespace {

// Of the sequences of generate_padding_mask(), in the host's memory.
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 31;

}  // namespace

Tensor<3, Bool> generate_autoregressive_mask(std::int64_t batch, std::int64_t length,
                                             Device device) try {
  return Tensor<3, Bool>(expand(tril_mask(length, length, 0, device), {batch, length, length}));
} catch (const Error& error) {
  throw_as("generate_autoregressive_mask", error);
}

PaddedTokens generate_padding_mask(std::int64_t pad,
                                   const std::vector<std::vector<std::int64_t>>& sequences,
                                   std::optional<std::int64_t> longest, bool fixed, Device device) {
  if (longest.value_or(0) < 0 || (fixed && !longest)) {
    throw Error(ErrorCode::invalid_argument,
                "generate_padding_mask: no length; got " +
                    (longest ? std::to_string(*longest) : std::string("fixed without one")) +
                    ", expected one of 0 or more");
  }
  std::int64_t length = fixed ? *longest : 0;
  for (const auto& tokens : sequences) {
    if (!fixed) length = std::max(length, static_cast<std::int64_t>(tokens.size()));
  }
  if (longest) length = std::min(length, *longest);
  const Shape shape = {static_cast<std::int64_t>(sequences.size()), length};
  std::int64_t count = 0;
  if (__builtin_mul_overflow(shape[0], length, &count) || count > kMaxTokens) {
    throw Error(ErrorCode::invalid_argument, "generate_padding_mask: too long; got " +
                                                 to_string(shape) + ", expected at most " +
                                                 std::to_string(kMaxTokens) + " tokens in all");
  }
  std::vector<std::int64_t> padded;
  for (const auto& tokens : sequences) {
    const auto kept = std::min(length, static_cast<std::int64_t>(tokens.size()));
    padded.insert(padded.end(), tokens.begin(), tokens.begin() + kept);
    padded.insert(padded.end(), static_cast<std::size_t>(length - kept), pad);
  }
  const Array tokens = Array::from_data(padded, shape, device);
  return {Tensor<2, Int>(tokens), Tensor<2, Bool>(equal(tokens, pad))};
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
