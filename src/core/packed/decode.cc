#include "core/packed/decode.h"

#include "core/packed/formats.h"

namespace hearth {
namespace {

template <class F>
void decode_blocks(const std::uint8_t* block, std::int64_t elements, float* out) {
  for (; elements > 0; elements -= F::elements, block += F::bytes) {
    for (std::uint32_t group = 0; group < F::elements / 16; ++group, out += 16) {
      // Bytes in memory, which compilers widen in vectors.
      std::uint8_t codes[16];
      for (std::uint32_t q = 0; q < 4; ++q) {
        const std::uint32_t four = F::four(block, group, q);
        for (std::uint32_t i = 0; i < 4; ++i) {
          codes[4 * q + i] = static_cast<std::uint8_t>(four >> (8 * i));
        }
      }
      const float step = F::step(block, group);
      const float least = F::least(block, group);
      for (int i = 0; i < 16; ++i) {
        out[i] = on_host::packed_formats::element_of_code<F>(codes[i], step, least);
      }
    }
  }
}

using Decoder = void (*)(const std::uint8_t* block, std::int64_t elements, float* out);

constexpr Decoder kDecoders[] = {
#define BLOCK_FORMAT(dtype, name, number, elements, bytes, encoder, largest) \
  decode_blocks<on_host::packed_formats::name>,
#include "core/packed/block_formats.def"
};

// Structs are what the table of formats says of them.
#define BLOCK_FORMAT(dtype, name, number, count, size, encoder, largest) \
  static_assert(on_host::packed_formats::name::elements == count &&      \
                on_host::packed_formats::name::bytes == size);
#include "core/packed/block_formats.def"

}  // namespace

void decode(DType dtype, const std::byte* blocks, std::int64_t elements, float* out) {
  const Decoder decoder = kDecoders[static_cast<int>(dtype) - kDTypeCount];
  decoder(reinterpret_cast<const std::uint8_t*>(blocks), elements, out);
}

}  // namespace hearth
