// Kernels by their source: compiled on first use, once, and remembered. Calls of libraries by their
// problem.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>

#include "runtime/commands/driver.h"
#include "runtime/compile/kernel_cache.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

// Thread-safe. Functions live as long as the registry.
class KernelRegistry {
 public:
  struct Statistics {
    std::int64_t compiled = 0;   // by the compiler
    std::int64_t from_disk = 0;  // served by the cache
    std::int64_t damaged = 0;    // cache entries that the driver could not load, rebuilt
  };

  KernelRegistry(Driver& driver, KernelCache cache) : driver_(driver), cache_(std::move(cache)) {
    if (cache_.folder().empty()) driver_.keep_no_images();
  }

  // Compiles or loads the kernel if it is new; threads that ask for the same one wait for the
  // first. Throws Error{device} with the compiler's messages, again at every call for the same
  // source.
  const Function& get(const KernelSource& source);
  // The function of a library, made ready by the first call.
  const Function& get(const LibraryCall& call);
  // The kernels of several sources at once, on as many threads as there are cores. What fails is
  // thrown by get().
  void prepare(std::span<const KernelSource* const> sources) noexcept;

  Statistics statistics() const;

 private:
  using Result = std::shared_future<std::shared_ptr<const Function>>;
  template <class Make>
  const Function& find_or_make(const SourceHash& hash, Make make);
  std::shared_ptr<const Function> make(const KernelSource& source, const SourceHash& hash);

  Driver& driver_;
  KernelCache cache_;
  mutable std::mutex mutex_;
  std::unordered_map<SourceHash, Result> functions_;
  Statistics statistics_;
};

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
