#include "runtime/compile/kernel_registry.h"

#include "runtime/device/worker_pool.h"
#include "runtime/trace/timeline.h"

namespace hearth {
inline namespace v0 {
namespace runtime {
namespace {

std::string device_text(const Properties& properties) {
  return properties.name + ", " + properties.architecture + ", " +
         std::to_string(properties.processors) + " cores";
}

}  // namespace

KernelRegistry::KernelRegistry(Driver& driver, KernelCache cache, bool tunes, std::string system)
    : driver_(driver),
      cache_(std::move(cache)),
      autotuner_(
          [this, system = std::move(system)] {
            // Which compiler there is may take long to find out.
            return TuningFile(cache_.folder(), device_text(driver_.properties()),
                              system + ", " + driver_.compiler_version());
          },
          tunes) {
  if (cache_.folder().empty()) driver_.keep_no_images();
}

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

SourceHash KernelRegistry::hash_of(const KernelSource& source) const {
  return hash_source(source, driver_.compiler_version() + " " + driver_.properties().architecture);
}

const Function& KernelRegistry::get(const KernelSource& source) {
  const SourceHash hash = hash_of(source);
  return find_or_make(hash, [&] { return make(source, hash); });
}

const Function& KernelRegistry::get(const LibraryCall& call) {
  return find_or_make(hash_call(call, ""),
                      [&] { return driver_.library_function(call, autotuner_); });
}

std::shared_ptr<const Function> KernelRegistry::make(const KernelSource& source,
                                                     const SourceHash& hash) {
  std::shared_ptr<const Function> function = from_disk(source, hash);
  return function != nullptr ? function : compile(source, hash);
}

std::shared_ptr<const Function> KernelRegistry::from_disk(const KernelSource& source,
                                                          const SourceHash& hash) {
  const auto image = cache_.find(hash);
  if (!image) return nullptr;
  try {
    std::shared_ptr<const Function> function = driver_.load(source, *image);
    const std::lock_guard lock(mutex_);
    ++statistics_.from_disk;
    return function;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt_file) throw;
    const std::lock_guard lock(mutex_);
    ++statistics_.damaged;
    return nullptr;
  }
}

std::shared_ptr<const Function> KernelRegistry::compile(const KernelSource& source,
                                                        const SourceHash& hash) {
  const HostSpan span("compile kernel");
  const std::vector<std::byte> image = driver_.compile(source);
  std::shared_ptr<const Function> function = driver_.load(source, image);
  cache_.keep(hash, image);
  const std::lock_guard lock(mutex_);
  ++statistics_.compiled;
  return function;
}

std::vector<KernelRegistry::Task> KernelRegistry::new_tasks(
    std::span<const KernelSource* const> sources) {
  std::vector<Task> tasks;
  for (const KernelSource* source : sources) {
    Task task{source, hash_of(*source), {}};
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = functions_.try_emplace(task.hash);
    if (!is_new) continue;
    entry->second = task.promise.get_future().share();
    tasks.push_back(std::move(task));
  }
  return tasks;
}

template <class Make>
void KernelRegistry::settle(Task& task, Make make) noexcept {
  if (task.is_done) return;
  try {
    std::shared_ptr<const Function> function = make();
    if (function == nullptr) return;
    task.promise.set_value(std::move(function));
  } catch (...) {
    task.promise.set_exception(std::current_exception());
  }
  task.is_done = true;
}

// What this leaves, or what it cannot do, is for compile(): the fault is of one source, and has its
// own message there.
void KernelRegistry::compile_together(std::span<Task* const> tasks) noexcept try {
  const HostSpan span("compile program");
  std::vector<const KernelSource*> sources;
  for (const Task* task : tasks) sources.push_back(task->source);
  const std::vector<std::byte> image = driver_.compile_together(sources);
  std::vector<SourceHash> loaded;
  for (Task* task : tasks) {
    settle(*task, [&]() -> std::shared_ptr<const Function> {
      try {
        return driver_.load(*task->source, image);
      } catch (const Error&) {
        return nullptr;
      }
    });
    if (task->is_done) loaded.push_back(task->hash);
  }
  cache_.keep(loaded, image);
  const std::lock_guard lock(mutex_);
  statistics_.compiled += static_cast<std::int64_t>(loaded.size());
} catch (const std::exception&) {
}

void KernelRegistry::prepare(std::span<const KernelSource* const> sources) noexcept try {
  std::vector<Task> tasks = new_tasks(sources);
  WorkerPool& pool = WorkerPool::global();
  const auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  pool.parallel_for(count(tasks), [&](std::int64_t i) {
    Task& task = tasks[static_cast<std::size_t>(i)];
    settle(task, [&] { return from_disk(*task.source, task.hash); });
  });

  std::unordered_map<const KernelSource*, Task*> task_of;
  std::vector<const KernelSource*> missing;
  for (Task& task : tasks) {
    if (task.is_done) continue;
    task_of[task.source] = &task;
    missing.push_back(task.source);
  }
  const auto programs = driver_.divide_among_programs(missing, pool.threads());
  pool.parallel_for(count(programs), [&](std::int64_t i) {
    std::vector<Task*> program;
    for (const KernelSource* source : programs[static_cast<std::size_t>(i)]) {
      program.push_back(task_of.at(source));
    }
    if (program.size() > 1) compile_together(program);
    for (Task* task : program) {
      settle(*task, [&] { return compile(*task->source, task->hash); });
    }
  });
} catch (const std::exception&) {
  // get() throws for what is missing.
}

KernelRegistry::Statistics KernelRegistry::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
