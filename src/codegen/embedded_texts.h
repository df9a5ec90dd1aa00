// The files of src/kernels, as the build puts them into the library (cmake/HearthEmbed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace hearth::gpu {

struct EmbeddedText {
  std::string_view path;  // below src/kernels: "prelude/cuda.h"
  std::string_view text;
};

std::span<const EmbeddedText> embedded_texts() noexcept;

}  // namespace hearth::gpu
