#include "models/files/mlx_weights.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <limits>

#include "core/json_fields.h"
#include "core/packed/given_codes.h"
#include "core/quoted.h"
#include "hearth/error.h"
#include "models/files/fp4_blocks.h"

namespace hearth::models::folders {
namespace {

constexpr std::int64_t kGroupSizes[] = {32, 64, 128};
constexpr std::int64_t kBitCounts[] = {2, 3, 4, 5, 6, 8};
constexpr std::size_t kBlock = packed::kGivenCodes;  // of all formats that words become

template <std::size_t N>
bool is_one_of(const std::int64_t (&all)[N], std::int64_t value) {
  return std::find(std::begin(all), std::end(all), value) != std::end(all);
}

MlxScheme parse_scheme(const JsonFields& fields) {
  MlxScheme scheme;
  const std::string mode = fields.text("mode", "affine");
  if (mode == "mxfp4") {
    scheme = {MlxMode::mxfp4, 4, kFp4Group};
  } else if (mode != "affine") {
    fields.unsupported("another mode; got " + hearth::quoted(mode) + ", expected affine or mxfp4");
  }
  scheme.bits = fields.integer("bits", scheme.bits);
  scheme.group_size = fields.integer("group_size", scheme.group_size);
  const bool fits =
      scheme.mode == MlxMode::mxfp4
          ? scheme.bits == 4 && scheme.group_size == kFp4Group
          : is_one_of(kBitCounts, scheme.bits) && is_one_of(kGroupSizes, scheme.group_size);
  if (!fits) {
    fields.fail("sizes that " + mode + " has not; got bits " + std::to_string(scheme.bits) +
                " and group_size " + std::to_string(scheme.group_size) +
                ", expected 2, 3, 4, 5, 6 or 8 and 32, 64 or 128, of mxfp4 4 and 32");
  }
  return scheme;
}

bool is_scale_dtype(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

[[noreturn]] void refuse_words(const io::SafetensorsView& words, const io::SafetensorsView& scales,
                               const MlxScheme& scheme) {
  throw Error(ErrorCode::corrupt_file,
              "read_model_folder: words and scales that do not fit; got " +
                  hearth::quoted(words.name) + " " + std::string(name(words.dtype)) + " " +
                  to_string(words.shape) + " and " + std::string(name(scales.dtype)) + " " +
                  to_string(scales.shape) + ", expected " + std::to_string(scheme.bits) +
                  " bits an element and groups of " + std::to_string(scheme.group_size));
}

// The shape of the elements.
Shape checked_shape(const io::SafetensorsView& words, const io::SafetensorsView& scales,
                    const io::SafetensorsView* biases, const MlxScheme& scheme) {
  const bool is_affine = scheme.mode == MlxMode::affine;
  const int rank = words.shape.rank();
  bool fits = words.dtype == DType::u32 && rank >= 1 && scales.shape.rank() == rank &&
              (is_affine ? is_scale_dtype(scales.dtype) : scales.dtype == DType::u8);
  if (is_affine) {
    fits =
        fits && biases != nullptr && biases->shape == scales.shape && biases->dtype == scales.dtype;
  }
  if (!fits) refuse_words(words, scales, scheme);
  Shape shape = words.shape;
  for (int axis = 0; axis + 1 < rank; ++axis) {
    if (words.shape[axis] != scales.shape[axis]) refuse_words(words, scales, scheme);
  }
  constexpr std::int64_t kMostElements = std::numeric_limits<std::int64_t>::max() / 1024;
  const std::int64_t groups = scales.shape[rank - 1], word_count = words.shape[rank - 1];
  if (groups > kMostElements || word_count > kMostElements ||
      word_count * 32 != groups * scheme.group_size * scheme.bits) {
    refuse_words(words, scales, scheme);
  }
  shape[rank - 1] = groups * scheme.group_size;
  return shape;
}

// Codes of a row, one after the other.
class CodeReader {
 public:
  CodeReader(const std::byte* row, std::int64_t bits) : at_(row), bits_(static_cast<int>(bits)) {}

  unsigned next() {
    while (held_ < bits_) {
      word_ |= std::to_integer<unsigned>(*at_++) << held_;
      held_ += 8;
    }
    const unsigned code = word_ & ((1u << bits_) - 1);
    word_ >>= bits_;
    held_ -= bits_;
    return code;
  }

 private:
  const std::byte* at_;
  int bits_;
  unsigned word_ = 0;
  int held_ = 0;
};

using BlockCodes = std::array<std::uint8_t, kBlock>;

BlockCodes next_codes(const std::byte* from, std::int64_t bits) {
  BlockCodes codes;
  if (bits == 4) {  // without a reader, which compilers do not turn into vectors
    for (std::size_t i = 0; i < kBlock / 2; ++i) {
      const auto pair = std::to_integer<unsigned>(from[i]);
      codes[2 * i] = static_cast<std::uint8_t>(pair & 15u);
      codes[2 * i + 1] = static_cast<std::uint8_t>(pair >> 4u);
    }
    return codes;
  }
  CodeReader reader(from, bits);
  for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(reader.next());
  return codes;
}

bool are_halves(const io::SafetensorsView& view) {
  if (view.dtype == DType::f16) return true;
  const auto count = static_cast<std::size_t>(element_count(view.shape));
  for (std::size_t i = 0; i < count; ++i) {
    const float value = stored_float(view.bytes.data(), view.dtype, i);
    if (static_cast<float>(float16(value)) != value) return false;
  }
  return true;
}

// The format whose blocks stand for codes with such scales and biases.
DType format_of(std::int64_t bits, const io::SafetensorsView& scales,
                const io::SafetensorsView& biases) {
  if (bits <= 5 && are_halves(scales) && are_halves(biases)) {
    return bits == 5 ? DType::q5_1 : DType::q4_1;
  }
  return bits <= 6 ? DType::affine6 : DType::affine8;
}

// A block that stands for the next codes, with one scale and bias.
void store_block(DType format, const std::byte* from, std::int64_t bits, float scale, float bias,
                 std::byte* to) {
  const BlockCodes codes = next_codes(from, bits);
  if (format == DType::q4_1 || format == DType::q5_1) {
    return packed::put_range(format, float16(scale), float16(bias), codes, to);
  }
  packed::put_affine(format, scale, bias, codes, to);
}

}  // namespace

std::optional<MlxScheme> MlxQuantization::scheme_of(const std::string& module) const {
  const auto at = modules.find(module);
  return at != modules.end() ? at->second : all;
}

std::optional<MlxQuantization> parse_mlx_quantization(const JsonObject& config,
                                                      const std::string& source) {
  const auto at = std::find_if(config.begin(), config.end(),
                               [](const auto& member) { return member.first == "quantization"; });
  if (at == config.end() || !std::holds_alternative<JsonObject>(at->second)) return std::nullopt;
  const JsonFields fields(at->second, source + ": quantization");
  if (fields.find("bits") == nullptr && fields.find("group_size") == nullptr &&
      fields.find("mode") == nullptr) {
    return std::nullopt;
  }
  MlxQuantization out;
  out.all = parse_scheme(fields);
  for (const auto& [module, value] : std::get<JsonObject>(at->second)) {
    if (const bool* flag = std::get_if<bool>(&value)) {
      out.modules[module] = *flag ? std::optional(out.all) : std::nullopt;
    } else if (std::holds_alternative<JsonObject>(value)) {
      out.modules[module] =
          parse_scheme(JsonFields(value, fields.name() + "." + hearth::quoted(module)));
    }
  }
  return out;
}

HostTensor decode_mlx_weight(const io::SafetensorsView& words, const io::SafetensorsView& scales,
                             const io::SafetensorsView* biases, const MlxScheme& scheme) {
  const Shape shape = checked_shape(words, scales, biases, scheme);
  if (scheme.mode == MlxMode::mxfp4) return mxfp4_of_pairs(words.bytes, scales.bytes, shape);
  if (words.bytes.empty()) return {scales.dtype, shape, {}};
  const auto group_size = static_cast<std::size_t>(scheme.group_size);
  const std::size_t code_bytes = kBlock / 8 * static_cast<std::size_t>(scheme.bits);
  HostTensor made{format_of(scheme.bits, scales, *biases), shape, {}};
  made.bytes.resize(static_cast<std::size_t>(bytes_of(made.dtype, element_count(shape))));
  const auto block_bytes = static_cast<std::size_t>(size_of(made.dtype));
  const std::byte* from = words.bytes.data();
  std::byte* to = made.bytes.data();
  const auto all_groups = static_cast<std::size_t>(element_count(scales.shape));
  for (std::size_t group = 0; group < all_groups; ++group) {
    const float scale = stored_float(scales.bytes.data(), scales.dtype, group);
    const float bias = stored_float(biases->bytes.data(), scales.dtype, group);
    for (std::size_t i = 0; i < group_size; i += kBlock) {
      store_block(made.dtype, from, scheme.bits, scale, bias, to);
      from += code_bytes;
      to += block_bytes;
    }
  }
  return made;
}

}  // namespace hearth::models::folders
