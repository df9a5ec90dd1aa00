#include "io/gguf_reader.h"

#include <algorithm>
#include <bit>
#include <new>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "core/integer_math.h"
#include "core/quoted.h"
#include "io/gguf_cursor.h"
#include "io/gguf_types.h"

namespace hearth::io {
namespace {

constexpr std::int32_t kLastVersion = 3;
// The fewest bytes that an entry of the metadata and the description of a tensor take.
constexpr std::uint64_t kLeastEntry = 13;
constexpr std::uint64_t kLeastTensor = 24;

class GgufReader {
 public:
  GgufReader(std::span<const std::byte> bytes, const FileErrors& errors)
      : bytes_(bytes), errors_(errors), cursor_(bytes, errors) {}

  GgufPart read() {
    read_start();
    const std::uint64_t counts = cursor_.position();
    const auto tensors = cursor_.number<std::int64_t>("the number of tensors");
    const auto entries = cursor_.number<std::int64_t>("the number of metadata entries");
    check_count("tensors", tensors, kLeastTensor, counts);
    check_count("metadata entries", entries, kLeastEntry, counts + sizeof tensors);
    for (std::int64_t i = 0; i < entries; ++i) read_entry();
    for (std::int64_t i = 0; i < tensors; ++i) read_tensor();
    check_names();
    place_tensors();
    return std::move(part_);
  }

 private:
  // Where the data of a tensor are, in the data of the file.
  struct Place {
    std::uint64_t begin;
    std::uint64_t bytes;
    std::uint64_t position;  // in the file, of the field that says so
  };

  void read_start() {
    const auto magic = cursor_.number<std::uint32_t>("the start");
    if (magic != std::uint32_t{'G'} + ('G' << 8) + ('U' << 16) + ('F' << 24)) {
      errors_.refuse_pointer(bytes_);
      const std::string_view start(reinterpret_cast<const char*>(bytes_.data()), 4);
      errors_.corrupt(0, "not a GGUF file; got " + hearth::quoted(start) + ", expected \"GGUF\"");
    }
    const std::uint64_t at = cursor_.position();
    const auto version = cursor_.number<std::uint32_t>("the version");
    if (version == 0) errors_.corrupt(at, "no such version; got 0, expected 2 or 3");
    if ((version & 0xffff) == 0) {
      throw errors_.error(ErrorCode::unsupported, at,
                          "the file is of a big-endian machine; got a version of " +
                              std::to_string(version) + ", expected 2 or 3");
    }
    if (version == 1 || version > kLastVersion) {
      throw errors_.error(
          ErrorCode::unsupported, at,
          "a version that is not read; got " + std::to_string(version) + ", expected 2 or 3");
    }
    part_.version = static_cast<int>(version);
  }

  void check_count(const char* what, std::int64_t count, std::uint64_t least, std::uint64_t at) {
    if (count >= 0 && static_cast<std::uint64_t>(count) <= cursor_.remaining() / least) return;
    errors_.corrupt(at, std::string("a wrong number of ") + what + "; got " +
                            std::to_string(count) + ", expected 0 to " +
                            std::to_string(cursor_.remaining() / least) +
                            ", for which the file has bytes");
  }

  // ---- Metadata

  void read_entry() {
    const std::uint64_t begin = cursor_.position();
    std::string key = cursor_.text("a key");
    if (key.empty()) errors_.corrupt(begin, "a key without characters");
    const std::uint64_t at = cursor_.position();
    const auto type = cursor_.number<std::uint32_t>("the type of a value");
    if (key == kGgufAlignmentKey) check_alignment_type(type, at);
    const std::uint64_t value_at = cursor_.position();
    GgufValue value = read_gguf_value(cursor_, type, at, key);
    if (key == kGgufAlignmentKey) set_alignment(value.as_int(), value_at);
    if (part_.metadata.contains(key))
      errors_.corrupt(begin, "the key " + hearth::quoted(key) + " twice");
    part_.metadata.insert(std::move(key), std::move(value));
    part_.entry_positions.push_back(begin);
  }

  void check_alignment_type(std::uint32_t type, std::uint64_t at) {
    if (type == static_cast<std::uint32_t>(GgufType::u32)) return;
    errors_.corrupt(at, "the value of " + hearth::quoted(kGgufAlignmentKey) +
                            " has another type; got type " + std::to_string(type) +
                            ", expected 4, u32");
  }

  void set_alignment(std::int64_t alignment, std::uint64_t at) {
    if (!std::has_single_bit(static_cast<std::uint64_t>(alignment))) {
      errors_.corrupt(
          at, "a wrong alignment; got " + std::to_string(alignment) + ", expected a power of two");
    }
    part_.alignment = alignment;
  }

  // ---- Tensors

  void read_tensor() {
    const std::uint64_t begin = cursor_.position();
    GgufView tensor;
    tensor.name = cursor_.text("the name of a tensor", kMaxGgufName);
    read_shape(tensor);
    read_type(tensor);
    const std::uint64_t at = cursor_.position();
    const auto offset = cursor_.number<std::uint64_t>("the offset of a tensor");
    if (offset % static_cast<std::uint64_t>(part_.alignment) != 0) {
      errors_.corrupt(at, who(tensor) + " is not aligned; got an offset of " +
                              std::to_string(offset) + ", expected a multiple of " +
                              std::to_string(part_.alignment));
    }
    places_.push_back({offset, *checked_bytes(tensor.shape, tensor.dtype), at});
    part_.tensors.push_back(std::move(tensor));
    part_.tensor_positions.push_back(begin);
  }

  static std::string who(const GgufView& tensor) { return "tensor " + hearth::quoted(tensor.name); }

  void read_shape(GgufView& tensor) {
    const std::uint64_t at = cursor_.position();
    const auto rank = cursor_.number<std::uint32_t>("the rank of a tensor");
    if (rank > std::uint32_t{kMaxGgufRank}) {
      errors_.corrupt(at, who(tensor) + " has too many axes; got " + std::to_string(rank) +
                              ", expected at most " + std::to_string(kMaxGgufRank));
    }
    tensor.shape.resize(static_cast<int>(rank), 1);
    std::int64_t elements = 1;
    for (int axis = static_cast<int>(rank) - 1; axis >= 0; --axis) {
      const std::uint64_t extent_at = cursor_.position();
      const auto extent = cursor_.number<std::int64_t>("the shape of a tensor");
      if (extent < 0) {
        errors_.corrupt(extent_at, who(tensor) + " has a negative extent; got " +
                                       std::to_string(extent) + ", expected at least 0");
      }
      // Strides are products without the extents of 0.
      if (extent != 0 && __builtin_mul_overflow(elements, extent, &elements)) {
        errors_.corrupt(extent_at, who(tensor) + " has a shape that overflows; got an extent of " +
                                       std::to_string(extent) + ", expected a product below 2^63");
      }
      tensor.shape[axis] = extent;
    }
  }

  // Also checks the shape against it.
  void read_type(GgufView& tensor) {
    const std::uint64_t at = cursor_.position();
    const auto number = cursor_.number<std::int32_t>("the type of a tensor");
    const GgufTensorType* const type = gguf_tensor_type(number);
    if (type == nullptr || !type->dtype) {
      throw errors_.error(
          ErrorCode::unsupported, at,
          who(tensor) + (type == nullptr ? " has an unknown type; got " + std::to_string(number)
                                         : " has a type that ggml has removed; got " +
                                               std::string(type->name)));
    }
    tensor.dtype = *type->dtype;
    const std::int64_t block = block_of(tensor.dtype);
    const std::int64_t row = tensor.shape.rank() == 0 ? 1 : tensor.shape[tensor.shape.rank() - 1];
    if (row % block != 0) {
      errors_.corrupt(at, who(tensor) + " has rows of no whole blocks; got " + std::to_string(row) +
                              " elements, expected a multiple of " + std::to_string(block) +
                              " for " + std::string(type->name));
    }
    if (!checked_bytes(tensor.shape, tensor.dtype)) {
      errors_.corrupt(at, who(tensor) + " has more bytes than 63 bits count; got " +
                              to_string(tensor.shape) + " " + std::string(type->name));
    }
  }

  void check_names() {
    const auto& tensors = part_.tensors;
    std::vector<std::size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(std::string_view(tensors[a].name), a) <
             std::pair(std::string_view(tensors[b].name), b);
    });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const GgufView& tensor = tensors[order[i]];
      if (tensor.name != tensors[order[i - 1]].name) continue;
      errors_.corrupt(part_.tensor_positions[order[i]],
                      "two tensors called " + hearth::quoted(tensor.name));
    }
  }

  // Gives each tensor its bytes, all inside of the file and apart.
  void place_tensors() {
    const auto alignment = static_cast<std::uint64_t>(part_.alignment);
    const std::uint64_t start = round_up(cursor_.position(), alignment);
    const std::uint64_t size = bytes_.size() > start ? bytes_.size() - start : 0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const auto [begin, bytes, position] = places_[i];
      GgufView& tensor = part_.tensors[i];
      // What is empty may stand behind the padding that the file ends without.
      const std::uint64_t limit = bytes == 0 ? round_up(size, alignment) : size;
      if (begin > limit || bytes > limit - begin) {
        errors_.corrupt(position, who(tensor) + " lies outside the data; got " +
                                      std::to_string(bytes) + " bytes at offset " +
                                      std::to_string(begin) + ", expected them within " +
                                      std::to_string(size) +
                                      " bytes: the file is cut off, as by an incomplete download, "
                                      "or wrong");
      }
      if (bytes == 0) continue;
      tensor.bytes =
          bytes_.subspan(static_cast<std::size_t>(start + begin), static_cast<std::size_t>(bytes));
    }
    check_apart();
  }

  void check_apart() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (places_[i].bytes > 0) order.push_back(i);
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(places_[a].begin, a) < std::pair(places_[b].begin, b);
    });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const Place& before = places_[order[i - 1]];
      const Place& place = places_[order[i]];
      if (place.begin - before.begin >= before.bytes) continue;
      errors_.corrupt(place.position, who(part_.tensors[order[i]]) + " overlaps another; got an " +
                                          "offset of " + std::to_string(place.begin) +
                                          ", expected at least " +
                                          std::to_string(before.begin + before.bytes));
    }
  }

  std::span<const std::byte> bytes_;
  const FileErrors& errors_;
  GgufCursor cursor_;
  GgufPart part_;
  std::vector<Place> places_;  // of part_.tensors
};

}  // namespace

GgufPart read_gguf(std::span<const std::byte> bytes, const FileErrors& errors) {
  try {
    return GgufReader(bytes, errors).read();
  } catch (const std::bad_alloc&) {
    throw errors.error(ErrorCode::out_of_memory, 0, "no memory for the metadata");
  }
}

}  // namespace hearth::io
