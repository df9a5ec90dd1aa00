// Libraries, functions and pipelines of the Metal double.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "machines/metal_double/metal_double.h"
#include "machines/metal_double/objc/foundation.h"
#include "machines/metal_double/objc/object.h"

namespace hearth::metal::fake {

struct Options final : Object {
  static constexpr const char* kType = "MTLCompileOptions";
  Options() : Object(class_named(kType)) {}
  static Id make() { return new Options; }
  void set_fast_math(Bool fast) { values.fast_math = fast != 0; }
  void set_math_mode(Integer mode) { is_safe = mode == 0; }
  void set_math_functions(Integer functions) { is_precise = functions == 1; }
  void set_language_version(UInteger version) { values.language_version = version; }
  CompileOptions given() const;

  CompileOptions values;
  bool is_safe = false;
  bool is_precise = false;
};

struct Library final : Object {
  static constexpr const char* kType = "MTLLibrary";
  Library(std::shared_ptr<GpuLibrary> of, std::string from)
      : Object(class_named(kType)), library(std::move(of)), text(std::move(from)) {}
  Id new_function(Id name);
  std::shared_ptr<GpuLibrary> library;
  std::string text;
};

struct Function final : Object {
  static constexpr const char* kType = "MTLFunction";
  Function(std::shared_ptr<const GpuKernel> of, std::string from)
      : Object(class_named(kType)), kernel(std::move(of)), text(std::move(from)) {}
  std::shared_ptr<const GpuKernel> kernel;
  std::string text;  // of its library
};

struct PipelineDescriptor final : Object {
  static constexpr const char* kType = "MTLComputePipelineDescriptor";
  PipelineDescriptor() : Object(class_named(kType)) {}
  static Id make() { return new PipelineDescriptor; }
  void dispose() override;
  void set_function(Id value);
  void set_archives(Id value);
  // What machine code depends on, as a line of an archive's file.
  std::string code() const;
  void set_label(Id value);
  void set_whole_simdgroups(Bool value) { whole_simdgroups = value != 0; }
  void set_max_threads(UInteger value);

  Function* function = nullptr;
  Array* archives = nullptr;
  std::string label;
  bool whole_simdgroups = false;
  UInteger max_threads = 0;  // 0: as many as the device can
};

struct ArchiveDescriptor final : Object {
  static constexpr const char* kType = "MTLBinaryArchiveDescriptor";
  ArchiveDescriptor() : Object(class_named(kType)) {}
  static Id make() { return new ArchiveDescriptor; }
  void dispose() override { release(url); }
  void set_url(Id value);

  Url* url = nullptr;
};

// Reads its file anew whenever a pipeline is made with it.
struct Archive final : Object {
  static constexpr const char* kType = "MTLBinaryArchive";
  explicit Archive(std::string from) : Object(class_named(kType)), path(std::move(from)) {}
  Bool add_functions(Id descriptor, Id* error);
  Bool serialize(Id url, Id* error);
  bool has(const std::string& code) const;

  std::string path;  // empty: of no file
  std::vector<std::string> codes;
};

struct Pipeline final : Object {
  static constexpr const char* kType = "MTLComputePipelineState";
  explicit Pipeline(const PipelineDescriptor& descriptor);
  UInteger max_total_threads() { return max_threads; }
  UInteger simdgroup_width();
  UInteger threadgroup_memory() { return static_memory; }

  std::shared_ptr<const GpuKernel> kernel;
  bool whole_simdgroups;
  UInteger max_threads;
  UInteger static_memory;
};

Id new_library(Id source, Id options, Id* error);
Id new_archive(Id descriptor, Id* error);
Id new_pipeline(Id descriptor, UInteger options, Id* reflection, Id* error);

}  // namespace hearth::metal::fake
