#include "codegen/bfloat_text.h"

#include <algorithm>

#include "codegen/kernel_text.h"

namespace hearth::gpu {
namespace {

bool says_bfloat(const runtime::KernelSource& source) {
  const auto says = [](const std::string& text) { return text.find("bfloat") != text.npos; };
  return says(source.function) || says(source.text) ||
         std::any_of(
             source.parameters.begin(), source.parameters.end(),
             [&](const runtime::KernelParameter& parameter) { return says(parameter.type); });
}

std::string file(const std::string& name) {
  return "#line 1 \"kernels/prelude/" + name + "\"\n" +
         std::string(embedded_text("prelude/" + name));
}

}  // namespace

std::string bfloat_prelude(const runtime::KernelSource& source) {
  std::string made = file("metal_bfloat.h");
  if (says_bfloat(source)) made += file("metal_bfloat_vectors.h");
  return made + "#line 1 \"" + source.name + "\"\n";
}

}  // namespace hearth::gpu
