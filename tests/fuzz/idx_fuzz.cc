// Parses arbitrary bytes as an IDX file. What is accepted must describe all of the input; whatever
// is not must be a hearth::Error.

#include <cstddef>
#include <cstdint>
#include <span>

#include "io/idx.h"
#include "require.h"

namespace {

using hearth::testing::require;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto file = hearth::io::IdxFile::parse(std::as_bytes(std::span(data, size)));
    const auto* begin = reinterpret_cast<const std::uint8_t*>(file.elements().data());
    require(begin == data + file.begin() && begin + file.elements().size() == data + size);
    require(file.shape().rank() == data[3]);
    std::uint64_t elements = 1;
    for (const std::int64_t extent : file.shape()) elements *= static_cast<std::uint64_t>(extent);
    require(elements * static_cast<std::uint64_t>(size_of(file.dtype())) == file.elements().size());
  } catch (const hearth::Error& error) {
    require(error.code() == hearth::ErrorCode::corrupt_file ||
            error.code() == hearth::ErrorCode::unsupported);
  }
  return 0;
}
