#include "devices/sim/kernel_library.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstring>

#include "codegen/entry_stub.h"
#include "core/hashing.h"
#include "devices/sim/checker/access_hooks.h"
#include "devices/sim/host_compiler.h"
#include "devices/sim/host_process.h"
#include "devices/sim/threads/threadgroup.h"
#include "hearth/error.h"

namespace hearth::sim {
namespace {

struct Seal {
  char mark[8];
  std::uint64_t bytes;
  std::uint64_t checksum;
};
constexpr char kMark[8] = {'h', 'e', 'a', 'r', 't', 'h', 's', 'o'};

[[noreturn]] void corrupt(const std::string& kernel, const std::string& what) {
  throw Error(ErrorCode::corrupt_file, "sim: the image of kernel '" + kernel + "' " + what);
}

std::span<const std::byte> open_seal(const std::string& kernel, std::span<const std::byte> image) {
  Seal seal = {};
  if (image.size() < sizeof(seal)) corrupt(kernel, "is too short");
  const std::span<const std::byte> library = image.first(image.size() - sizeof(seal));
  std::memcpy(&seal, library.data() + library.size(), sizeof(seal));
  if (std::memcmp(seal.mark, kMark, sizeof(kMark)) != 0 || seal.bytes != library.size() ||
      seal.checksum != fnv1a(library)) {
    corrupt(kernel, "is damaged");
  }
  return library;
}

// The loader tells libraries apart by their paths, so each has one that never comes again.
void* open_library(const std::string& kernel, std::span<const std::byte> library) {
  static std::atomic<std::int64_t> next{0};
  const TemporaryFolder folder;
  const std::string path = folder.file(std::to_string(next++) + ".so");
  write_file(path, {reinterpret_cast<const char*>(library.data()), library.size()});
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) corrupt(kernel, std::string("does not load: ") + dlerror());
  return handle;
}

// Where a library is mapped, from its first segment to the end of its last.
std::span<const std::byte> mapped_range(void* handle) {
  struct link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return {};
  const auto* const base = reinterpret_cast<const std::byte*>(map->l_addr);
  const auto& header = *reinterpret_cast<const ElfW(Ehdr)*>(base);
  const auto* const segments = reinterpret_cast<const ElfW(Phdr)*>(base + header.e_phoff);
  std::size_t end = 0;
  for (int i = 0; i < header.e_phnum; ++i) {
    const ElfW(Phdr)& segment = segments[i];
    if (segment.p_type == PT_LOAD) {
      end = std::max(end, static_cast<std::size_t>(segment.p_vaddr + segment.p_memsz));
    }
  }
  return {base, end};
}

}  // namespace

std::vector<std::byte> seal_image(std::vector<std::byte> library) {
  Seal seal = {};
  std::memcpy(seal.mark, kMark, sizeof(kMark));
  seal.bytes = library.size();
  seal.checksum = fnv1a(library);
  const auto* const bytes = reinterpret_cast<const std::byte*>(&seal);
  library.insert(library.end(), bytes, bytes + sizeof(seal));
  return library;
}

KernelLibrary::KernelLibrary(const runtime::KernelSource& source, std::span<const std::byte> image)
    : name_(source.name),
      parameters_(source.parameters),
      max_threads_(source.max_threads),
      members_(source.members),
      asked_bytes_(gpu::large_arrays(source, 0).bytes) {
  const std::span<const std::byte> library = open_seal(name_, image);
  bytes_.assign(library.begin(), library.end());
  handle_ = open_library(name_, library);
  kernel_ = reinterpret_cast<HearthKernel>(symbol(name_));
  const auto bytes = reinterpret_cast<HearthThreadgroupBytes>(symbol(name_ + "_threadgroup_bytes"));
  void* const table = symbol("hearth_simulator");
  if (kernel_ == nullptr || bytes == nullptr || table == nullptr) {
    dlclose(handle_);
    corrupt(name_, "does not have that kernel");
  }
  *static_cast<const HearthSimulator**>(table) = Threadgroup::callbacks();
  if (void* const hook = symbol("hearth_access")) {
    checked_ = true;
    *static_cast<AccessHook*>(hook) = Threadgroup::access;
    *static_cast<BoundsHook*>(symbol("hearth_bounds")) = Threadgroup::out_of_bounds;
    *static_cast<AlignmentHook*>(symbol("hearth_alignment")) = Threadgroup::misaligned;
  }
  unsigned next = 0;
  for (const runtime::KernelParameter& parameter : parameters_) {
    if (parameter.kind != runtime::KernelParameter::Kind::threadgroup) continue;
    arrays_.push_back({parameter.name, static_cast<std::int64_t>(bytes(next++))});
  }
  mapped_ = mapped_range(handle_);
}

std::string KernelLibrary::line_of(const void* instruction) const {
  const auto* const at = static_cast<const std::byte*>(instruction);
  if (at <= mapped_.data() || at > mapped_.data() + mapped_.size()) return {};
  return source_line(bytes_, static_cast<std::uintptr_t>(at - mapped_.data()) - 1);
}

KernelLibrary::~KernelLibrary() { dlclose(handle_); }

void* KernelLibrary::symbol(const std::string& name) const { return dlsym(handle_, name.c_str()); }

std::int64_t KernelLibrary::threadgroup_bytes() const {
  std::int64_t all = 0;
  for (const ThreadgroupArray& array : arrays_) all += array.bytes;
  return all;
}

}  // namespace hearth::sim
