#include "models/sampling/token_mask.h"

#include <limits>
#include <string>

#include "core/counted.h"
#include "hearth/ops.h"

namespace hearth::models {
namespace {

constexpr std::int64_t kWordBits = 32;

std::int64_t words_of(std::int64_t vocabulary) { return (vocabulary + kWordBits - 1) / kWordBits; }

}  // namespace

Array token_mask_bits(std::span<const std::shared_ptr<const std::vector<std::uint32_t>>> masks,
                      std::int64_t vocabulary, Device device) {
  if (vocabulary < 0) {
    throw Error(ErrorCode::invalid_argument, "token_mask_bits: negative vocabulary; got " +
                                                 std::to_string(vocabulary) +
                                                 ", expected 0 or more");
  }
  const std::int64_t words = words_of(vocabulary);
  std::vector<std::uint32_t> bits;
  bits.reserve(masks.size() * static_cast<std::size_t>(words));
  for (std::size_t i = 0; i < masks.size(); ++i) {
    if (masks[i] == nullptr) {
      bits.resize(bits.size() + static_cast<std::size_t>(words), 0xffffffffu);
      continue;
    }
    if (static_cast<std::int64_t>(masks[i]->size()) != words) {
      throw Error(ErrorCode::shape, "token_mask_bits: mask of another vocabulary; got " +
                                        counted(masks[i]->size(), "word") + " of sequence " +
                                        std::to_string(i) + ", expected " + std::to_string(words));
    }
    bits.insert(bits.end(), masks[i]->begin(), masks[i]->end());
  }
  return Array::from_data(bits, {static_cast<std::int64_t>(masks.size()), words}, device);
}

Array masked_logits(const Array& logits, const Array& bits) {
  const auto fail = [&](ErrorCode code, const std::string& what) {
    throw Error(code, "masked_logits: " + what);
  };
  if (bits.dtype() != DType::u32) {
    fail(ErrorCode::dtype, std::string("bits of another dtype; got ") +
                               std::string(name(bits.dtype())) + ", expected u32");
  }
  if (logits.rank() != 2 || bits.rank() != 2 || bits.shape(0) != logits.shape(0) ||
      bits.shape(1) != words_of(logits.shape(1))) {
    fail(ErrorCode::shape,
         "shapes that do not fit; got logits of rank " + std::to_string(logits.rank()) +
             " and bits of rank " + std::to_string(bits.rank()) +
             ", expected [sequences, vocabulary] and [sequences, ceil(vocabulary / 32)]");
  }
  const std::int64_t sequences = logits.shape(0), words = bits.shape(1);
  const Array places =
      reshape(arange(0, kWordBits, 1, DType::u32, logits.device()), {1, 1, kWordBits});
  const Array shifted = bitwise_right_shift(reshape(bits, {sequences, words, 1}), places);
  const Array allowed = reshape(not_equal(bitwise_and(shifted, std::int64_t{1}), std::int64_t{0}),
                                {sequences, words * kWordBits});
  return where(narrow(allowed, 1, 0, logits.shape(1)), logits,
               -std::numeric_limits<double>::infinity());
}

}  // namespace hearth::models
