// What stands before the data of a GGUF file.
#include <algorithm>
#include <optional>
#include <string_view>

#include "core/integer_math.h"
#include "core/quoted.h"
#include "io/gguf.h"
#include "io/gguf_types.h"
#include "io/gguf_writer.h"
#include "io/untrusted.h"

namespace hearth::io {
namespace {

constexpr std::uint32_t kWrittenVersion = 3;

[[noreturn]] void refuse_to_write(const std::string& what,
                                  ErrorCode code = ErrorCode::invalid_argument) {
  throw Error(code, "save_gguf: " + what);
}

template <class T>
void put(std::string& out, T number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void put(std::string& out, GgufType type) { put(out, static_cast<std::uint32_t>(type)); }
void put(std::string& out, bool value) { out += value ? '\1' : '\0'; }

void put(std::string& out, const std::string& text) {
  if (text.size() > kMaxGgufLength) {
    refuse_to_write("a text is too long; got " + std::to_string(text.size()) +
                    " bytes, expected at most " + std::to_string(kMaxGgufLength));
  }
  put(out, std::uint64_t{text.size()});
  out += text;
}

template <class T>
void put(std::string& out, const std::vector<T>& values) {
  if (values.size() > kMaxGgufLength) {
    refuse_to_write("an array is too long; got " + std::to_string(values.size()) +
                    " elements, expected at most " + std::to_string(kMaxGgufLength));
  }
  put(out, std::uint64_t{values.size()});
  for (const T& value : values) put(out, value);
}

void put_entry(std::string& out, const GgufEntry& entry) {
  const auto& [key, value] = entry;
  if (key.empty()) refuse_to_write("a key of the metadata has no characters");
  put(out, key);
  put(out, value.type());
  if (value.is_array()) put(out, value.element_type());
  std::visit([&](const auto& held) { put(out, held); }, value.storage());
}

std::string tensor_called(const GgufTensor& tensor) {
  return "tensor " + hearth::quoted(tensor.name);
}

// The bytes of the tensor's elements; throws for one that the format cannot hold.
std::uint64_t checked_tensor(const GgufTensor& tensor) {
  const auto& [name, dtype, shape] = tensor;
  if (name.size() > kMaxGgufName) {
    refuse_to_write("the name of " + tensor_called(tensor) + " is too long; got " +
                    std::to_string(name.size()) + " bytes, expected at most " +
                    std::to_string(kMaxGgufName));
  }
  if (!gguf_type_number(dtype)) {
    refuse_to_write(tensor_called(tensor) + " has a dtype that the format lacks; got " +
                        std::string(hearth::name(dtype)) +
                        ", expected a float, a signed integer or a packed dtype",
                    ErrorCode::dtype);
  }
  if (shape.rank() > kMaxGgufRank) {
    refuse_to_write(tensor_called(tensor) + " has too many axes; got " + to_string(shape) +
                    ", expected at most " + std::to_string(kMaxGgufRank));
  }
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      refuse_to_write(tensor_called(tensor) + " has a negative extent; got " + to_string(shape) +
                      ", expected extents of at least 0");
    }
  }
  const std::optional<std::uint64_t> bytes = checked_bytes(shape, dtype);
  if (!bytes) {
    refuse_to_write(tensor_called(tensor) + " has a shape that does not fit; got " +
                    std::string(hearth::name(dtype)) + " " + to_string(shape) +
                    ", expected rows of whole blocks and less than 2^63 bytes");
  }
  return *bytes;
}

void check_tensor_names(std::span<const GgufTensor> tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const GgufTensor& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
    refuse_to_write("two tensors with one name; got " + hearth::quoted(*twice));
  }
}

}  // namespace

std::string gguf_header(std::span<const GgufTensor> tensors, const GgufMetadata& metadata,
                        std::int64_t alignment) {
  check_tensor_names(tensors);
  std::string out = "GGUF";
  put(out, kWrittenVersion);
  put(out, static_cast<std::int64_t>(tensors.size()));
  put(out, static_cast<std::int64_t>(metadata.size()));
  for (const GgufEntry& entry : metadata) put_entry(out, entry);
  std::uint64_t offset = 0;
  for (const GgufTensor& tensor : tensors) {
    const std::uint64_t bytes = checked_tensor(tensor);
    put(out, tensor.name);
    put(out, static_cast<std::uint32_t>(tensor.shape.rank()));
    for (int axis = tensor.shape.rank() - 1; axis >= 0; --axis) put(out, tensor.shape[axis]);
    put(out, *gguf_type_number(tensor.dtype));
    put(out, offset);
    if (__builtin_add_overflow(offset, round_up(bytes, static_cast<std::uint64_t>(alignment)),
                               &offset)) {
      refuse_to_write("more bytes of tensors than a file can have");
    }
  }
  if (!tensors.empty()) out.resize(round_up(out.size(), static_cast<std::size_t>(alignment)), '\0');
  return out;
}

}  // namespace hearth::io
