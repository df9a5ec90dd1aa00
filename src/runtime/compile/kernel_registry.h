// Kernels by source: compiled once, on first use, and cached. Calls of libraries by problem.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/commands/driver.h"
#include "runtime/compile/kernel_cache.h"
#include "runtime/tune/autotuner.h"

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

  // What libraries and candidates are measured to take is kept in the cache's folder. `tunes`:
  // something is read and measured at all. `system`: what times depend on besides the device and
  // the compiler.
  KernelRegistry(Driver& driver, KernelCache cache, bool tunes = true, std::string system = "");

  // Compiles or loads the kernel if it is new; threads that ask for the same one wait for the
  // first. Throws Error{device} with the compiler's messages, again at every call for the same
  // source.
  const Function& get(const KernelSource& source);
  // The function of a library, made ready by the first call.
  const Function& get(const LibraryCall& call);
  // The kernels of several sources, compiled on as many threads as there are cores; the driver says
  // which are compiled as one program. What fails is thrown by get(), and fails no other.
  void prepare(std::span<const KernelSource* const> sources) noexcept;

  Autotuner& autotuner() noexcept { return autotuner_; }
  const Autotuner& autotuner() const noexcept { return autotuner_; }
  Statistics statistics() const;

 private:
  using Result = std::shared_future<std::shared_ptr<const Function>>;
  // A source that this thread has promised the function of.
  struct Task {
    const KernelSource* source;
    SourceHash hash;
    std::promise<std::shared_ptr<const Function>> promise;
    bool is_done = false;
  };
  template <class Make>
  const Function& find_or_make(const SourceHash& hash, Make make);
  SourceHash hash_of(const KernelSource& source) const;
  std::shared_ptr<const Function> make(const KernelSource& source, const SourceHash& hash);
  // Null where the cache has nothing that loads.
  std::shared_ptr<const Function> from_disk(const KernelSource& source, const SourceHash& hash);
  std::shared_ptr<const Function> compile(const KernelSource& source, const SourceHash& hash);
  std::vector<Task> new_tasks(std::span<const KernelSource* const> sources);
  // `make` gives a task's function, or null to leave it for later.
  template <class Make>
  void settle(Task& task, Make make) noexcept;
  void compile_together(std::span<Task* const> tasks) noexcept;

  Driver& driver_;
  KernelCache cache_;
  Autotuner autotuner_;
  mutable std::mutex mutex_;
  std::unordered_map<SourceHash, Result> functions_;
  Statistics statistics_;
};

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
