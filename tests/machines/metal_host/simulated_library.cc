#include "machines/metal_host/simulated_library.h"

#include <algorithm>

#include "codegen/kernel_text.h"
#include "codegen/msl/parameters.h"
#include "codegen/msl/preprocessor/preprocessor.h"
#include "codegen/text/text_builder.h"
#include "codegen/text/tokens.h"
#include "devices/sim/host_compiler.h"
#include "hearth/error.h"
#include "machines/metal_host/pointer_members.h"
#include "runtime/compile/kernel_cache.h"
#include "runtime/compile/source_hash.h"

namespace hearth::metal {
namespace {

using runtime::KernelParameter;
using runtime::KernelSource;

constexpr UInteger kFirstWithBfloat = 0x30001;

runtime::MetalOptions options_of(UInteger language) {
  runtime::MetalOptions made;
  if (language < kFirstWithBfloat) made.defines["__METAL_VERSION__"] = "300";
  // The prelude that comes with the reader has one of this name, too.
  made.defines["Ctx"] = "TextCtx";
  // What a launch brings is told when it comes.
  for (int index = 0; index < 31; ++index) made.threadgroup_bytes[index] = 16;
  return made;
}

// What the compiler of an older language does not know.
void check_words(const std::string& text, const runtime::MetalOptions& options) {
  const std::string read = gpu::preprocess(text, "text", options.files, options.defines);
  for (const gpu::Token& token : gpu::tokens_of(read)) {
    if (token.text == "bfloat" || token.text == "bfloat4" || token.text == "simdgroup_bfloat8x8") {
      throw Error(ErrorCode::device, "error: unknown type name '" + std::string(token.text) + "'");
    }
  }
}

const gpu::MetalEntry& entry_of(const gpu::MetalText& text, const KernelSource& source) {
  return *text.entry(source.function.substr(0, source.function.find('<')));
}

// A constant of an entry point, and the pointers in it.
struct PointersOf {
  gpu::MetalParameter parameter;
  std::string type;
  std::vector<PointerMember> members;
};

std::vector<PointersOf> pointers_of(const gpu::MetalText& text, const gpu::MetalEntry& entry) {
  std::vector<PointersOf> all;
  for (gpu::MetalParameter& parameter : parameters_of(text, entry)) {
    if (parameter.kind != gpu::MetalParameter::Kind::constant || parameter.is_absent) continue;
    const std::string type = type_of_parameter(std::string(entry.parameters), parameter.name);
    std::vector<PointerMember> members = pointer_members(std::string(text.text), type);
    if (!members.empty()) all.push_back({std::move(parameter), type, std::move(members)});
  }
  return all;
}

std::string table_name(const std::string& kernel) { return kernel + "_pointers"; }

// A function that gives the bytes of each such struct, and of each pointer in it the first offset
// and the bytes from one to the next. Nothing where there is none.
std::string pointer_table(const KernelSource& source) {
  const gpu::MetalText text(source.text);
  std::string numbers;
  for (const PointersOf& constant : pointers_of(text, entry_of(text, source))) {
    numbers += gpu::joined("sizeof(", constant.type, "), ");
    for (const PointerMember& member : constant.members) {
      numbers += gpu::joined("__builtin_offsetof(", constant.type, ", ", member.path, "), ");
      numbers += member.element.empty() ? "0ul, "
                                        : gpu::joined("sizeof(static_cast<", constant.type,
                                                      "*>(nullptr)->", member.element, "), ");
    }
  }
  if (numbers.empty()) return "";
  return gpu::joined("namespace metal {\nnamespace kernel_text {\nextern \"C\" ",
                     "__attribute__((visibility(\"default\"))) const unsigned long* ",
                     table_name(source.name), "() {\n  static constexpr unsigned long table[] = {",
                     numbers, "};\n  return table;\n}\n}\n}\n");
}

}  // namespace

// Parameters come in the order of their indices, threadgroup memory after (runtime::metal_kernel).
SimulatedKernel::SimulatedKernel(const KernelSource& source, std::span<const std::byte> image)
    : library_(source, image) {
  name = source.name;
  const gpu::MetalText text(source.text);
  const gpu::MetalEntry& entry = entry_of(text, source);
  for (const gpu::MetalParameter& parameter : parameters_of(text, entry)) {
    if (parameter.kind == gpu::MetalParameter::Kind::position || parameter.is_absent) continue;
    const auto index = static_cast<UInteger>(parameter.index);
    if (parameter.kind == gpu::MetalParameter::Kind::threadgroup) {
      threadgroup.push_back(index);
    } else {
      const bool constant = parameter.kind == gpu::MetalParameter::Kind::constant;
      buffers.push_back({parameter.name, index, !constant && !parameter.is_const});
    }
  }
  std::sort(buffers.begin(), buffers.end(),
            [](const Buffer& a, const Buffer& b) { return a.index < b.index; });
  std::sort(threadgroup.begin(), threadgroup.end());
  find_pointers(text, entry);
}

void SimulatedKernel::find_pointers(const gpu::MetalText& text, const gpu::MetalEntry& entry) {
  using Table = const unsigned long* (*)();
  const auto table = reinterpret_cast<Table>(library_.symbol(table_name(library_.name())));
  if (table == nullptr) return;
  const unsigned long* number = table();
  for (const PointersOf& constant : pointers_of(text, entry)) {
    const auto buffer = std::find_if(buffers.begin(), buffers.end(), [&](const Buffer& each) {
      return each.index == static_cast<UInteger>(constant.parameter.index);
    });
    const auto at = static_cast<std::size_t>(buffer - buffers.begin());
    buffer->bytes = static_cast<std::int64_t>(*number++);
    for (const PointerMember& member : constant.members) {
      const auto first = static_cast<std::int64_t>(*number++);
      const auto stride = static_cast<std::int64_t>(*number++);
      for (std::int64_t i = 0; i < member.count; ++i) {
        const std::string called = constant.parameter.name + "." + member.of(i);
        pointers.push_back({called, at, first + i * stride, member.writes});
        reached_.push_back(
            {member.writes ? KernelParameter::Kind::read_write : KernelParameter::Kind::read,
             "uchar", called});
      }
    }
  }
}

SimulatedLibrary::SimulatedLibrary(std::string text, UInteger language, bool check)
    : text_(std::move(text)),
      options_(options_of(language)),
      check_(check),
      names_(runtime::metal_kernel_names(text_, options_)) {
  if (language < kFirstWithBfloat) check_words(text_, options_);
  if (names_.empty()) {
    throw Error(ErrorCode::device,
                "no kernel in the text; got " + std::to_string(text_.size()) + " characters");
  }
  kernel(names_.front());
}

std::shared_ptr<const fake::GpuKernel> SimulatedLibrary::kernel(const std::string& name) {
  if (std::find(names_.begin(), names_.end(), name) == names_.end()) return nullptr;
  const std::lock_guard lock(mutex_);
  auto& found = kernels_[name];
  if (found == nullptr) found = compile(name);
  return found;
}

std::shared_ptr<const fake::GpuKernel> SimulatedLibrary::compile(const std::string& name) const {
  const KernelSource source = runtime::metal_kernel(text_, name, options_);
  const runtime::KernelCache cache(runtime::KernelCache::default_folder());
  const runtime::SourceHash hash =
      hash_source(source, "double 2 " + sim::host_compiler_version({.checked = check_}) + " " +
                              std::to_string(gpu::embedded_revision()));
  if (const auto image = cache.find(hash)) {
    return std::make_shared<const SimulatedKernel>(source, *image);
  }
  const std::vector<std::byte> image = sim::seal_image(sim::compile_for_host(
      source.name, gpu::assemble(source, gpu::Target::host) + pointer_table(source),
      {.checked = check_}));
  cache.keep(hash, image);
  return std::make_shared<const SimulatedKernel>(source, image);
}

}  // namespace hearth::metal
