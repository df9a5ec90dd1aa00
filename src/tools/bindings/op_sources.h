// Which file defines each op. Written by the build (cmake/HearthOpSources.cmake).
#pragma once

#include <span>
#include <string_view>

namespace hearth::tools {

struct OpSource {
  std::string_view op;
  std::string_view path;  // "src/ops/activation/softmax.cc"
};

std::span<const OpSource> op_sources() noexcept;

}  // namespace hearth::tools
