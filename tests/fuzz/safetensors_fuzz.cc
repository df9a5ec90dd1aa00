// Parses arbitrary bytes as a safetensors file. Whatever is accepted must lie within the input and
// come back equal when written and parsed again; whatever is not must be a hearth::Error.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/safetensors.h"
#include "require.h"

namespace {

using hearth::testing::require;

void check_round_trip(const hearth::io::SafetensorsFile& file) {
  std::vector<hearth::io::SafetensorsView> tensors = file.tensors();
  std::string written = hearth::io::safetensors_header(tensors, file.metadata());
  for (const auto& tensor : tensors) {
    written.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  const auto again = hearth::io::SafetensorsFile::parse(std::as_bytes(std::span(written)));
  require(again.metadata() == file.metadata());
  require(again.tensors().size() == file.tensors().size());
  for (const auto& tensor : file.tensors()) {
    const auto* read = again.find(tensor.name);
    require(read != nullptr && read->dtype == tensor.dtype && read->shape == tensor.shape);
    require(std::equal(read->bytes.begin(), read->bytes.end(), tensor.bytes.begin(),
                       tensor.bytes.end()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto file = hearth::io::SafetensorsFile::parse(std::as_bytes(std::span(data, size)));
    for (const auto& tensor : file.tensors()) {
      const auto* begin = reinterpret_cast<const std::uint8_t*>(tensor.bytes.data());
      require(begin >= data && begin + tensor.bytes.size() <= data + size);
    }
    check_round_trip(file);
  } catch (const hearth::Error& error) {
    require(error.code() == hearth::ErrorCode::corrupt_file ||
            error.code() == hearth::ErrorCode::unsupported);
  }
  return 0;
}
