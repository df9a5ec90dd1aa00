#include "devices/metal/double/libraries.h"

#include <algorithm>

#include "devices/metal/double/foundation.h"
#include "devices/metal/double/state.h"

namespace hearth::metal::fake {
namespace {

constexpr UInteger kMostThreads = 1024;

void give_error(Id* error, const std::string& text) {
  if (error != nullptr) *error = autorelease(new ErrorObject(text));
}

}  // namespace

CompileOptions Options::given() const {
  CompileOptions made = values;
  if (is_safe && is_precise) made.fast_math = false;
  return made;
}

Id new_library(Id source, Id options, Id* error) {
  const auto* const text = as<String>(source);
  CompileOptions given;
  if (options != nullptr) {
    const auto* const made = as<Options>(options);
    if (made == nullptr) return nullptr;
    given = made->given();
  }
  if (text == nullptr) return nullptr;
  {
    const std::lock_guard lock(state().mutex);
    state().compiled.push_back(given);
  }
  std::string messages;
  std::shared_ptr<GpuLibrary> library;
  if (state().gpu == nullptr) {
    messages = "the double has no Gpu that runs kernels";
  } else {
    library = state().gpu->compile(text->text, messages);
  }
  if (library != nullptr) return new Library(std::move(library));
  give_error(error, messages);
  return nullptr;
}

Id Library::new_function(Id called) {
  const auto* const text = as<String>(called);
  if (text == nullptr) return nullptr;
  auto kernel = library->kernel(text->text);
  return kernel == nullptr ? nullptr : new Function(std::move(kernel));
}

void PipelineDescriptor::set_function(Id value) {
  retain(value);
  release(function);
  function = as<Function>(value);
}

void PipelineDescriptor::set_label(Id value) {
  if (const auto* const text = as<String>(value)) label = text->text;
}

void PipelineDescriptor::set_max_threads(UInteger value) {
  if (value > kMostThreads) fault("a pipeline of more threads than 1024");
  max_threads = value;
}

Pipeline::Pipeline(const PipelineDescriptor& descriptor)
    : Object(class_named(kType)),
      kernel(descriptor.function->kernel),
      whole_simdgroups(descriptor.whole_simdgroups),
      max_threads(std::min(descriptor.max_threads == 0 ? kMostThreads : descriptor.max_threads,
                           state().most_threads)) {}

UInteger Pipeline::simdgroup_width() { return state().simdgroup_width; }

Id new_pipeline(Id descriptor, UInteger, Id*, Id* error) {
  const auto* const made = as<PipelineDescriptor>(descriptor);
  if (made == nullptr) return nullptr;
  if (made->function != nullptr) return new Pipeline(*made);
  fault("a pipeline without a function");
  give_error(error, "no function");
  return nullptr;
}

void define_libraries() {
  define<messages::new_compile_options, &Options::make>();
  define<messages::set_fast_math, &Options::set_fast_math>();
  define<messages::set_math_mode, &Options::set_math_mode>();
  define<messages::set_math_functions, &Options::set_math_functions>();
  define<messages::set_language_version, &Options::set_language_version>();
  define<messages::new_function, &Library::new_function>();
  define<messages::new_pipeline_descriptor, &PipelineDescriptor::make>();
  define<messages::set_compute_function, &PipelineDescriptor::set_function>();
  define<messages::set_pipeline_label, &PipelineDescriptor::set_label>();
  define<messages::set_whole_simdgroups, &PipelineDescriptor::set_whole_simdgroups>();
  define<messages::set_max_threads, &PipelineDescriptor::set_max_threads>();
  define<messages::max_threads, &Pipeline::max_total_threads>();
  define<messages::simdgroup_width, &Pipeline::simdgroup_width>();
  define<messages::threadgroup_memory, &Pipeline::threadgroup_memory>();
}

}  // namespace hearth::metal::fake
