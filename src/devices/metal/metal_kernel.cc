#include "devices/metal/metal_kernel.h"

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

MetalKernel::MetalKernel(const ObjectiveC& objc, Id device, const runtime::KernelSource& source,
                         const Owned& library, std::int64_t most_threadgroup_bytes)
    : Function(source),
      bindings_(bindings_of(source)),
      shared_name_(std::make_shared<const std::string>(source.name)) {
  const AutoreleasePool pool(objc);
  const Owned function =
      objc.send(library.get(), messages::new_function, objc.string(bindings_.entry));
  if (!function) {
    throw Error(ErrorCode::corrupt_file, "metal: the image of kernel " + name() +
                                             " cannot be loaded; got a library without " +
                                             bindings_.entry);
  }
  const Owned descriptor =
      objc.send(objc.type_named("MTLComputePipelineDescriptor"), messages::new_pipeline_descriptor);
  objc.send(descriptor.get(), messages::set_compute_function, function.get());
  objc.send(descriptor.get(), messages::set_pipeline_label, objc.string(name()));
  objc.send(descriptor.get(), messages::set_max_threads, static_cast<UInteger>(source.max_threads));
  // Threadgroups at the end of a grid in threads may be cut.
  if (!bindings_.takes_grid) {
    objc.send(descriptor.get(), messages::set_whole_simdgroups, Bool{1});
  }
  Id error = nullptr;
  pipeline_ =
      objc.send(device, messages::new_pipeline, descriptor.get(), UInteger{0}, nullptr, &error);
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
