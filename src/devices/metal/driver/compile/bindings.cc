#include "devices/metal/driver/compile/bindings.h"

#include <algorithm>

#include "codegen/entry_stub.h"
#include "codegen/msl/parameters.h"
#include "core/integer_math.h"

namespace hearth::metal {
namespace {

using gpu::MetalParameter;
using runtime::KernelParameter;

std::string entry_name(const gpu::MetalText& text, const gpu::MetalEntry& entry,
                       const runtime::KernelSource& source) {
  for (const gpu::MetalInstance& instance : text.instances) {
    if (instance.function != source.function) continue;
    return instance.host_name.empty() ? source.name : instance.host_name;
  }
  if (entry.is_template) return source.name;  // instantiated under it by gpu::assemble()
  return entry.host_name.empty() ? entry.name : entry.host_name;
}

// Parameters come in the order of their indices, threadgroup memory last (runtime::metal_kernel).
Bindings bindings_of_text(const runtime::KernelSource& source) {
  const gpu::MetalText text(source.text);
  const gpu::MetalEntry& entry = *text.entry(source.function.substr(0, source.function.find('<')));
  Bindings made;
  made.entry = entry_name(text, entry, source);
  made.takes_grid = true;
  std::vector<UInteger> threadgroup;
  for (const MetalParameter& parameter : parameters_of(text, entry)) {
    if (parameter.kind == MetalParameter::Kind::position || parameter.is_absent) continue;
    const bool array = parameter.kind == MetalParameter::Kind::threadgroup;
    (array ? threadgroup : made.buffers).push_back(static_cast<UInteger>(parameter.index));
  }
  std::sort(made.buffers.begin(), made.buffers.end());
  std::sort(threadgroup.begin(), threadgroup.end());
  for (const KernelParameter& parameter : source.parameters) {
    if (parameter.kind != KernelParameter::Kind::threadgroup) continue;
    // The API takes whole 16 bytes.
    const auto bytes = static_cast<UInteger>(round_up(parameter.count, 16));
    made.threadgroup.emplace_back(threadgroup[made.threadgroup.size()], bytes);
  }
  return made;
}

}  // namespace

Bindings bindings_of(const runtime::KernelSource& source) {
  if (source.metal) return bindings_of_text(source);
  Bindings made;
  made.entry = gpu::metal_entry_name(source);
  if (source.members > 0) {
    made.buffers.push_back(0);
    made.is_batch = true;
    return made;
  }
  for (const KernelParameter& parameter : source.parameters) {
    if (parameter.kind == KernelParameter::Kind::threadgroup) continue;
    made.buffers.push_back(made.buffers.size());
  }
  return made;
}

}  // namespace hearth::metal
