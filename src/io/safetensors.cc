#include "io/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include "io/safetensors_header.h"

namespace hearth::io {
namespace {

// Checks that the tensors cover the data exactly once.
void check_coverage(std::vector<HeaderTensor>& tensors, std::uint64_t data_bytes,
                    std::uint64_t data_start, const FileErrors& errors) {
  std::sort(tensors.begin(), tensors.end(), [](const HeaderTensor& a, const HeaderTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t covered = 0;
  for (const HeaderTensor& tensor : tensors) {
    if (tensor.begin != covered) {
      errors.corrupt(tensor.position,
                     "tensor " + printable(tensor.name) +
                         (tensor.begin < covered ? " overlaps another" : " follows a hole") +
                         "; got data offset " + std::to_string(tensor.begin) + ", expected " +
                         std::to_string(covered));
    }
    covered = tensor.end;
  }
  if (covered != data_bytes) {
    errors.corrupt(data_start + covered, "data that belongs to no tensor; got " +
                                             std::to_string(data_bytes) + " bytes, expected " +
                                             std::to_string(covered));
  }
}

void check_names(std::vector<HeaderTensor>& tensors, const FileErrors& errors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const HeaderTensor& a, const HeaderTensor& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    if (tensors[i].name == tensors[i - 1].name) {
      errors.corrupt(std::max(tensors[i].position, tensors[i - 1].position),
                     "two tensors called " + printable(tensors[i].name));
    }
  }
}

}  // namespace

std::string_view safetensors_name(Float8 type) noexcept {
  constexpr std::string_view kNames[] = {"", "F8_E4M3", "F8_E5M2", "F8_E8M0"};
  return kNames[static_cast<int>(type)];
}

SafetensorsFile SafetensorsFile::open(const std::string& path, Float8Tensors float8) {
  MappedFile mapped = MappedFile::open(path);
  SafetensorsFile file = parse(mapped.bytes(), "\"" + path + "\"", float8);
  file.file_ = std::move(mapped);
  return file;
}

SafetensorsFile SafetensorsFile::parse(std::span<const std::byte> bytes, const std::string& source,
                                       Float8Tensors float8) {
  const FileErrors errors("safetensors", source);
  if (bytes.size() < kLengthBytes) {
    errors.corrupt(bytes.size(), "too short; got " + std::to_string(bytes.size()) +
                                     " bytes, expected at least 8");
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  errors.refuse_pointer(bytes);
  if (length > kMaxSafetensorsHeader) {
    errors.corrupt(0, "header too long; got " + std::to_string(length) +
                          " bytes, expected at most " + std::to_string(kMaxSafetensorsHeader));
  }
  if (length > bytes.size() - kLengthBytes) {
    errors.corrupt(bytes.size(), "header cut off; got " +
                                     std::to_string(bytes.size() - kLengthBytes) +
                                     " bytes, expected " + std::to_string(length));
  }
  const auto header = bytes.subspan(kLengthBytes, static_cast<std::size_t>(length));
  const auto data = bytes.subspan(kLengthBytes + header.size());
  try {
    auto [tensors, metadata] = read_header(
        {reinterpret_cast<const char*>(header.data()), header.size()}, data.size(), errors, float8);
    check_coverage(tensors, data.size(), kLengthBytes + header.size(), errors);
    check_names(tensors, errors);
    SafetensorsFile file;
    file.metadata_ = std::move(metadata);
    file.tensors_.reserve(tensors.size());
    for (HeaderTensor& tensor : tensors) {
      file.tensors_.push_back({std::move(tensor.name), tensor.dtype, tensor.shape,
                               data.subspan(static_cast<std::size_t>(tensor.begin),
                                            static_cast<std::size_t>(tensor.end - tensor.begin)),
                               tensor.float8});
    }
    return file;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::out_of_memory, "safetensors: " + source +
                                              ": no memory for a header of " +
                                              std::to_string(length) + " bytes");
  }
}

const SafetensorsView* SafetensorsFile::find(std::string_view name) const& noexcept {
  const auto at = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const SafetensorsView& view, std::string_view wanted) { return view.name < wanted; });
  return at != tensors_.end() && at->name == name ? &*at : nullptr;
}

}  // namespace hearth::io
