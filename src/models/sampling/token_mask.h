// Which tokens may be drawn, as bits, applied where the logits are.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hearth/array.h"

namespace hearth::models {

// The bits of all sequences, u32 [sequences, ceil(vocabulary / 32)], on `device`. A mask of a
// sequence is what GrammarMatcher::mask() gives; null: all tokens are allowed. Throws Error{shape}
// for a mask of another size.
Array token_mask_bits(std::span<const std::shared_ptr<const std::vector<std::uint32_t>>> masks,
                      std::int64_t vocabulary, Device device = Device());

// logits [sequences, vocabulary] of a float dtype with -inf where bit id % 32 of word id / 32 of
// `bits` u32 [sequences, ceil(vocabulary / 32)] is 0. The bits are expanded on the device. Throws
// Error{shape} and Error{dtype} where these do not fit.
Array masked_logits(const Array& logits, const Array& bits);

}  // namespace hearth::models
