#include "machines/metal_double/libraries.h"

#include <algorithm>
#include <fstream>
#include <functional>

#include "machines/metal_double/objc/foundation.h"
#include "machines/metal_double/state.h"

namespace hearth::metal::fake {
namespace {

constexpr UInteger kMaxThreads = 1024;

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
    library = state().gpu->compile(text->text, given.language_version, messages);
  }
  if (library != nullptr) return new Library(std::move(library), text->text);
  give_error(error, messages);
  return nullptr;
}

Id Library::new_function(Id called) {
  const auto* const named = as<String>(called);
  if (named == nullptr) return nullptr;
  auto kernel = library->kernel(named->text);
  return kernel == nullptr ? nullptr : new Function(std::move(kernel), text);
}

void PipelineDescriptor::set_function(Id value) {
  retain(value);
  release(function);
  function = as<Function>(value);
}

void PipelineDescriptor::dispose() {
  release(function);
  release(archives);
}

void PipelineDescriptor::set_archives(Id value) {
  auto* const given = value == nullptr ? nullptr : as<Array>(value);
  retain(given);
  release(archives);
  archives = given;
}

std::string PipelineDescriptor::code() const {
  return function->kernel->name + " " + std::to_string(std::hash<std::string>()(function->text)) +
         " " + std::to_string(max_threads) + " " + std::to_string(whole_simdgroups);
}

void ArchiveDescriptor::set_url(Id value) {
  auto* const given = value == nullptr ? nullptr : as<Url>(value);
  retain(given);
  release(url);
  url = given;
}

Bool Archive::add_functions(Id given, Id* error) {
  const auto* const descriptor = as<PipelineDescriptor>(given);
  if (descriptor == nullptr) return 0;
  if (descriptor->function == nullptr) {
    fault("a pipeline without a function is added to an archive");
    return 0;
  }
  if (state().archives_fail) {
    give_error(error, "no archives today");
    return 0;
  }
  codes.push_back(descriptor->code());
  return 1;
}

// The system that wrote it, and a line for each pipeline.
Bool Archive::serialize(Id given, Id* error) {
  const auto* const url = as<Url>(given);
  if (url == nullptr) return 0;
  if (codes.empty()) fault("an archive of nothing is written");
  std::ofstream file(url->path);
  file << "archive " << state().build << "\n";
  for (const std::string& code : codes) file << code << "\n";
  file.close();
  if (file) return 1;
  give_error(error, url->path + " cannot be written");
  return 0;
}

bool Archive::has(const std::string& code) const {
  if (path.empty()) return std::find(codes.begin(), codes.end(), code) != codes.end();
  std::ifstream file(path);
  if (!file) fault("a pipeline is made with an archive whose file is gone");
  for (std::string line; std::getline(file, line);) {
    if (line == code) return true;
  }
  return false;
}

Id new_archive(Id given, Id* error) {
  const auto* const descriptor = as<ArchiveDescriptor>(given);
  if (descriptor == nullptr) return nullptr;
  if (descriptor->url == nullptr) return new Archive("");
  std::ifstream file(descriptor->url->path);
  std::string line;
  if (std::getline(file, line) && line == "archive " + state().build) {
    return new Archive(descriptor->url->path);
  }
  give_error(error, descriptor->url->path + " is no archive of this system");
  return nullptr;
}

void PipelineDescriptor::set_label(Id value) {
  if (const auto* const text = as<String>(value)) label = text->text;
}

void PipelineDescriptor::set_max_threads(UInteger value) {
  if (value > kMaxThreads) fault("a pipeline of more threads than 1024");
  max_threads = value;
}

Pipeline::Pipeline(const PipelineDescriptor& descriptor)
    : Object(class_named(kType)),
      kernel(descriptor.function->kernel),
      whole_simdgroups(descriptor.whole_simdgroups),
      max_threads(std::min(descriptor.max_threads == 0 ? kMaxThreads : descriptor.max_threads,
                           state().most_threads)),
      static_memory(state().static_threadgroup_memory) {}

UInteger Pipeline::simdgroup_width() { return state().simdgroup_width; }

Id new_pipeline(Id descriptor, UInteger, Id*, Id* error) {
  const auto* const made = as<PipelineDescriptor>(descriptor);
  if (made == nullptr) return nullptr;
  if (made->function != nullptr) {
    bool is_known = false;
    const std::size_t count = made->archives == nullptr ? 0 : made->archives->objects.size();
    for (std::size_t i = 0; i < count; ++i) {
      const auto* const archive = as<Archive>(made->archives->objects[i]);
      is_known = is_known || (archive != nullptr && archive->has(made->code()));
    }
    const std::lock_guard lock(state().mutex);
    ++(is_known ? state().pipelines_from_archives : state().pipelines_compiled);
    return new Pipeline(*made);
  }
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
  define<messages::set_archives, &PipelineDescriptor::set_archives>();
  define<messages::new_archive_descriptor, &ArchiveDescriptor::make>();
  define<messages::set_archive_url, &ArchiveDescriptor::set_url>();
  define<messages::add_compute_functions, &Archive::add_functions>();
  define<messages::serialize, &Archive::serialize>();
  define<messages::max_threads, &Pipeline::max_total_threads>();
  define<messages::simdgroup_width, &Pipeline::simdgroup_width>();
  define<messages::threadgroup_memory, &Pipeline::threadgroup_memory>();
}

}  // namespace hearth::metal::fake
