#include "codegen/kept_results.h"

#include <cstdlib>
#include <span>

#include "runtime/compile/kernel_cache.h"

namespace hearth::gpu_test {
namespace {

const runtime::KernelCache& cache() {
  static const runtime::KernelCache made = [] {
    const char* folder = std::getenv("HEARTH_TEST_KERNELS");
    return runtime::KernelCache(folder != nullptr ? folder : "");
  }();
  return made;
}

runtime::SourceHash hash_of(const std::string& key) {
  return runtime::hash_source({}, "result " + key);
}

}  // namespace

std::optional<std::string> kept_result(const std::string& key) {
  const auto bytes = cache().find(hash_of(key));
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

void keep_result(const std::string& key, const std::string& result) {
  cache().keep(hash_of(key), std::as_bytes(std::span(result)));
}

}  // namespace hearth::gpu_test
