// Parses arbitrary bytes as a GGUF file. Whatever is accepted must lie within the input, each
// tensor apart from the others, and come back equal when written and parsed again; whatever is not
// must be a hearth::Error.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/integer_math.h"
#include "io/gguf.h"
#include "io/gguf_writer.h"
#include "require.h"

namespace {

using hearth::io::GgufFile;
using hearth::io::GgufTensor;
using hearth::io::GgufView;

using hearth::testing::require;

std::string written(const GgufFile& file) {
  std::vector<GgufTensor> tensors;
  for (const GgufView& view : file.tensors()) {
    tensors.push_back({view.name, view.dtype, view.shape});
  }
  std::string text = hearth::io::gguf_header(tensors, file.metadata(), file.alignment());
  const auto alignment = static_cast<std::size_t>(file.alignment());
  for (const GgufView& view : file.tensors()) {
    text.append(reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size());
    text.resize(hearth::round_up(text.size(), alignment), '\0');
  }
  return text;
}

// Of NaNs in the metadata the texts are compared.
void check_round_trip(const GgufFile& file) {
  const std::string text = written(file);
  const auto again = GgufFile::parse(std::as_bytes(std::span(text)));
  require(written(again) == text);
  require(again.metadata().size() == file.metadata().size());
  require(again.tensors().size() == file.tensors().size());
  for (const GgufView& view : file.tensors()) {
    const GgufView* read = again.find(view.name);
    require(read != nullptr && read->dtype == view.dtype && read->shape == view.shape);
    require(
        std::equal(read->bytes.begin(), read->bytes.end(), view.bytes.begin(), view.bytes.end()));
  }
}

void check_places(const GgufFile& file, const std::uint8_t* data, std::size_t size) {
  std::vector<std::span<const std::byte>> places;
  for (const GgufView& view : file.tensors()) {
    if (!view.bytes.empty()) places.push_back(view.bytes);
  }
  std::sort(places.begin(), places.end(),
            [](const auto& a, const auto& b) { return a.data() < b.data(); });
  const auto* end = reinterpret_cast<const std::byte*>(data);
  for (const auto& bytes : places) {
    require(bytes.data() >= end);
    end = bytes.data() + bytes.size();
  }
  require(end <= reinterpret_cast<const std::byte*>(data) + size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto file = GgufFile::parse(std::as_bytes(std::span(data, size)));
    check_places(file, data, size);
    // A padding of gigabytes is right, and slow.
    if (file.alignment() <= 4096) check_round_trip(file);
  } catch (const hearth::Error& error) {
    require(error.code() == hearth::ErrorCode::corrupt_file ||
            error.code() == hearth::ErrorCode::unsupported);
  }
  return 0;
}
