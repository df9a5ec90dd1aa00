// Parses arbitrary bytes as files of CIFAR-10 and CIFAR-100. What is accepted must lie within the
// input, with labels in range; whatever is not must be a hearth::Error.

#include <cstddef>
#include <cstdint>
#include <span>

#include "hearth/error.h"
#include "io/cifar.h"
#include "require.h"

namespace {

using hearth::io::CifarKind;

using hearth::testing::require;

void parse_as(CifarKind kind, const std::uint8_t* data, std::size_t size) {
  try {
    const auto file = hearth::io::CifarFile::parse(std::as_bytes(std::span(data, size)), kind);
    require(file.count() > 0);
    for (std::size_t i = 0; i < file.count(); ++i) {
      require(file.label(i) < hearth::io::cifar_classes(kind));
      const auto pixels = file.pixels(i);
      const auto* begin = reinterpret_cast<const std::uint8_t*>(pixels.data());
      require(begin > data && begin + pixels.size() <= data + size);
      require(pixels.size() == hearth::io::kCifarPixels);
    }
  } catch (const hearth::Error& error) {
    require(error.code() == hearth::ErrorCode::corrupt_file);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  parse_as(CifarKind::cifar10, data, size);
  parse_as(CifarKind::cifar100, data, size);
  return 0;
}
