#include "runtime/compile/kernel_registry.h"

#include "runtime/device/worker_pool.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

template <class Make>
const Function& KernelRegistry::find_or_make(const SourceHash& hash, Make make) {
  std::promise<std::shared_ptr<const Function>> promise;
  Result result;
  {
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = functions_.try_emplace(hash);
    if (!is_new) {
      result = entry->second;
    } else {
      entry->second = promise.get_future().share();
    }
  }
  if (result.valid()) return *result.get();
  try {
    std::shared_ptr<const Function> function = make();
    promise.set_value(function);
    return *function;
  } catch (...) {
    promise.set_exception(std::current_exception());
    throw;
  }
}

const Function& KernelRegistry::get(const KernelSource& source) {
  const SourceHash hash =
      hash_source(source, driver_.compiler_version() + " " + driver_.properties().architecture);
  return find_or_make(hash, [&] { return make(source, hash); });
}

const Function& KernelRegistry::get(const LibraryCall& call) {
  return find_or_make(hash_call(call, ""), [&] { return driver_.library_function(call, cache_); });
}

std::shared_ptr<const Function> KernelRegistry::make(const KernelSource& source,
                                                     const SourceHash& hash) {
  std::int64_t KernelRegistry::Statistics::* what = &Statistics::compiled;
  std::unique_ptr<Function> function;
  if (const auto image = cache_.find(hash)) {
    try {
      function = driver_.load(source, *image);
      what = &Statistics::from_disk;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::corrupt_file) throw;
      const std::lock_guard lock(mutex_);
      ++statistics_.damaged;
    }
  }
  if (function == nullptr) {
    const std::vector<std::byte> image = driver_.compile(source);
    function = driver_.load(source, image);
    cache_.keep(hash, image);
  }
  const std::lock_guard lock(mutex_);
  ++(statistics_.*what);
  return function;
}

void KernelRegistry::prepare(std::span<const KernelSource* const> sources) noexcept {
  if (sources.empty()) return;
  WorkerPool::global().parallel_for(static_cast<std::int64_t>(sources.size()), [&](std::int64_t i) {
    try {
      get(*sources[static_cast<std::size_t>(i)]);
    } catch (const std::exception&) {
      // get() throws it again where the kernel is needed.
    }
  });
}

KernelRegistry::Statistics KernelRegistry::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
