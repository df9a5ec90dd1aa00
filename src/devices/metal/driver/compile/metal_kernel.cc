#include "devices/metal/driver/compile/metal_kernel.h"

#include "hearth/error.h"

namespace hearth::metal {
namespace {

constexpr UInteger kSimdgroup = 32;

[[noreturn]] void refuse(const std::string& kernel, const std::string& what) {
  throw Error(ErrorCode::unsupported, "metal: kernel " + kernel + " cannot run here: " + what);
}

std::string got_expected(UInteger got, const char* expected, std::int64_t limit) {
  return "; got " + std::to_string(got) + ", expected " + expected + std::to_string(limit);
}

}  // namespace

MetalKernel::MetalKernel(const ObjectiveC& objc, const Pipelines& pipelines,
                         const runtime::KernelSource& source, const CompiledText& compiled,
                         std::int64_t most_threadgroup_bytes)
    : Function(source),
      bindings_(bindings_of(source)),
      shared_name_(std::make_shared<const std::string>(source.name)) {
  using Kind = runtime::KernelParameter::Kind;
  for (const runtime::KernelParameter& parameter : source.parameters) {
    if (parameter.kind == Kind::threadgroup) continue;
    writes_.push_back(parameter.kind == Kind::write || parameter.kind == Kind::read_write);
  }
  const AutoreleasePool pool(objc);
  const Owned descriptor = pipeline_descriptor(objc, source, compiled.library.get());
  Id error = nullptr;
  pipeline_ = pipelines.make(descriptor.get(), compiled.archive, &error);
  if (!pipeline_) {
    throw Error(ErrorCode::device,
                "metal: kernel " + name() + " makes no pipeline: " + objc.error_text(error));
  }
  const UInteger width = objc.send(pipeline_.get(), messages::simdgroup_width);
  if (width != kSimdgroup) {
    refuse(name(), "simdgroups of another width" + got_expected(width, "", kSimdgroup));
  }
  UInteger memory = objc.send(pipeline_.get(), messages::threadgroup_memory);
  for (const auto& [index, bytes] : bindings_.threadgroup) memory += bytes;
  if (memory > static_cast<UInteger>(most_threadgroup_bytes)) {
    refuse(name(), "too much threadgroup memory" +
                       got_expected(memory, "at most ", most_threadgroup_bytes));
  }
  max_threads_ = static_cast<std::int64_t>(objc.send(pipeline_.get(), messages::max_threads));
}

}  // namespace hearth::metal
