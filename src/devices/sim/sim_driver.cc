#include "devices/sim/sim_driver.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "codegen/kernel_text.h"
#include "devices/sim/host_compiler.h"
#include "devices/sim/threads/fault_trap.h"
#include "hearth/error.h"

namespace hearth::sim {
namespace {

using Kind = runtime::KernelParameter::Kind;

// A host that only submits must not fill the memory with queued work.
constexpr std::size_t kLongQueue = 4096;
constexpr std::int64_t kStagedBytes = std::int64_t{64} << 20;

class SimFunction final : public runtime::Function {
 public:
  SimFunction(const runtime::KernelSource& source, std::shared_ptr<const KernelLibrary> library,
              bool recordable)
      : Function(source), library_(std::move(library)), recordable_(recordable) {}
  bool is_recordable() const noexcept override { return recordable_; }
  const std::shared_ptr<const KernelLibrary>& library() const noexcept { return library_; }

 private:
  std::shared_ptr<const KernelLibrary> library_;
  const bool recordable_;
};

struct SimExecutable final : runtime::Executable {
  std::shared_ptr<const Batch> batch;
};

[[noreturn]] void fail(const KernelLibrary& library, const std::string& what) {
  throw Error(ErrorCode::device, "sim: kernel '" + library.name() + "': " + what);
}

std::string at_most(std::int64_t got, std::int64_t limit) {
  return "; got " + std::to_string(got) + ", expected at most " + std::to_string(limit);
}

// What each argument of a command is: those of a batch have a table in front, and come for each
// member.
std::vector<const runtime::KernelParameter*> argument_parameters(const KernelLibrary& library,
                                                                 const runtime::Command& command) {
  static const runtime::KernelParameter table{Kind::constant, "BatchTable", "table"};
  std::vector<const runtime::KernelParameter*> all;
  std::uint32_t members = 1;
  if (library.members() > 0) {
    if (command.arguments.empty() || command.arguments[0].constant == nullptr) {
      fail(library, "a batch without its table");
    }
    std::memcpy(&members, command.arguments[0].constant, sizeof members);
    if (members < 1 || members > static_cast<std::uint32_t>(library.members())) {
      fail(library, "a batch of too many members" + at_most(members, library.members()));
    }
    all.push_back(&table);
  }
  for (std::uint32_t i = 0; i < members; ++i) {
    for (const runtime::KernelParameter& parameter : library.parameters()) {
      if (parameter.kind != Kind::threadgroup) all.push_back(&parameter);
    }
  }
  return all;
}

QueuedCommand copy_command(const runtime::Command& command) {
  QueuedCommand copy;
  copy.library = static_cast<const SimFunction*>(command.function)->library();
  copy.groups = command.groups;
  copy.threads = command.threads;
  copy.group = command.group;
  copy.after.assign(command.after.begin(), command.after.end());
  copy.early = command.early;
  const std::vector<const runtime::KernelParameter*> parameters =
      argument_parameters(*copy.library, command);
  for (std::size_t i = 0; i < std::min(parameters.size(), command.arguments.size()); ++i) {
    const runtime::Argument& argument = command.arguments[i];
    QueuedCommand::Argument& mine = copy.arguments.emplace_back();
    mine.parameter = parameters[i];
    mine.address = argument.address;
    mine.bytes = argument.bytes;
    if (argument.constant != nullptr) {
      const auto* const bytes = static_cast<const std::byte*>(argument.constant);
      mine.constant.assign(bytes, bytes + argument.bytes);
    }
  }
  const std::size_t expected = parameters.size();
  if (command.arguments.size() != expected) {
    fail(*copy.library, "wrong number of arguments; got " +
                            std::to_string(command.arguments.size()) + ", expected " +
                            std::to_string(expected));
  }
  return copy;
}

std::shared_ptr<const Batch> copy_batch(std::span<const runtime::Command> commands) {
  auto batch = std::make_shared<Batch>();
  batch->reserve(commands.size());
  for (const runtime::Command& command : commands) {
    QueuedCommand copy = copy_command(command);
    if (!batch->empty() && copy.group < batch->back().group) {
      fail(*copy.library, "its group falls; got " + std::to_string(copy.group) +
                              ", expected at least " + std::to_string(batch->back().group));
    }
    for (const int earlier : copy.after) {
      if (earlier >= 0 && earlier < static_cast<int>(batch->size())) continue;
      fail(*copy.library, "waits for a command that is not before it; got " +
                              std::to_string(earlier) + " in command " +
                              std::to_string(batch->size()));
    }
    batch->push_back(std::move(copy));
  }
  return batch;
}

}  // namespace

SimDriver::SimDriver(const SimOptions& options)
    : options_(options),
      memory_(options.placement, options.memory),
      windows_(memory_),
      runner_(options.schedule),
      random_(options.schedule.seed) {
  install_fault_trap();
  properties_.name = "kernel simulator";
  properties_.architecture = "sim";
  properties_.memory = options.memory;
  properties_.processors = 4;
  properties_.processor_registers = 52 * 1024;
  properties_.processor_memory = 60 * 1024;
  // What the smallest cards with tile products have.
  properties_.large_threadgroup_memory = 99 * 1024;
  properties_.max_threads = Threadgroup::kMaxThreads;
  properties_.cache_bytes = std::int64_t{1} << 20;
  properties_.has_f64 = gpu::has_f64(gpu::Target::host);
  properties_.has_tile_products = true;
  properties_.has_simdgroup_matrix = true;
}

Address SimDriver::allocate(std::int64_t bytes) {
  Address address = memory_.allocate(bytes);
  if (address != nullptr) return address;
  {
    // Blocks that were freed may still wait for the work queued before.
    const std::lock_guard lock(mutex_);
    run_queue();
  }
  address = memory_.allocate(bytes);
  if (address != nullptr) return address;
  throw Error(ErrorCode::out_of_memory, "sim: no memory; got a request for " +
                                            std::to_string(bytes) + " bytes with " +
                                            std::to_string(memory_.in_use()) + " in use");
}

void SimDriver::free(Address address) noexcept {
  if (address == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (tasks_.empty()) {
    memory_.free(address);
  } else {
    tasks_.push_back([this, address] { memory_.free(address); });
  }
}

std::vector<std::byte> SimDriver::compile(const runtime::KernelSource& source) {
  return seal_image(compile_for_host(source.name, gpu::assemble(source, gpu::Target::host),
                                     {options_.check, options_.debug, options_.time_limit}));
}

std::string SimDriver::compiler_version() const {
  return host_compiler_version({options_.check, options_.debug}) + " " +
         std::to_string(gpu::embedded_revision());
}

std::unique_ptr<runtime::Function> SimDriver::load(const runtime::KernelSource& source,
                                                   std::span<const std::byte> image) {
  return load(source, image, true);
}

std::unique_ptr<runtime::Function> SimDriver::load(const runtime::KernelSource& source,
                                                   std::span<const std::byte> image,
                                                   bool recordable) {
  return std::make_unique<SimFunction>(source, std::make_shared<const KernelLibrary>(source, image),
                                       recordable);
}

void SimDriver::submit(std::span<const runtime::Command> commands) {
  queue([this, batch = copy_batch(commands), number = ++batches_] {
    run_batch(*batch, DependencyBy::groups, number);
  });
}

void SimDriver::copy_to_device(Address target, const void* source, std::int64_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(source);
  queue(
      [this, target, copy = std::vector<std::byte>(begin, begin + bytes)] {
        const auto size = static_cast<std::int64_t>(copy.size());
        if (size == 0) return;
        std::memcpy(real(target, size, "a copy to the device"), copy.data(), copy.size());
      },
      bytes);
}

void SimDriver::copy_on_device(Address target, Address source, std::int64_t bytes) {
  queue([this, target, source, bytes] {
    if (bytes == 0) return;
    const std::byte* const from = real(source, bytes, "the source of a copy");
    std::memmove(real(target, bytes, "the target of a copy"), from,
                 static_cast<std::size_t>(bytes));
  });
}

void SimDriver::fill(Address target, std::uint8_t value, std::int64_t bytes) {
  queue([this, target, value, bytes] {
    if (bytes == 0) return;
    std::memset(real(target, bytes, "a fill"), value, static_cast<std::size_t>(bytes));
  });
}

void SimDriver::copy_to_host(void* target, Address source, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back([this, target, source, bytes] {
    if (bytes == 0) return;
    std::memcpy(target, real(source, bytes, "a copy to the host"), static_cast<std::size_t>(bytes));
  });
  run_and_throw();
}

void SimDriver::wait() {
  const std::lock_guard lock(mutex_);
  run_and_throw();
}

std::unique_ptr<runtime::Executable> SimDriver::instantiate(
    std::span<const runtime::Command> commands) {
  auto executable = std::make_unique<SimExecutable>();
  executable->batch = copy_batch(commands);
  return executable;
}

bool SimDriver::update(runtime::Executable& executable,
                       std::span<const runtime::Command> commands) {
  auto& mine = static_cast<SimExecutable&>(executable);
  const std::shared_ptr<const Batch> batch = copy_batch(commands);
  if (batch->size() != mine.batch->size()) return false;
  for (std::size_t i = 0; i < batch->size(); ++i) {
    const QueuedCommand& now = (*batch)[i];
    const QueuedCommand& before = (*mine.batch)[i];
    if (now.library != before.library || now.after != before.after) return false;
  }
  mine.batch = batch;
  return true;
}

void SimDriver::launch(runtime::Executable& executable) {
  queue([this, batch = static_cast<SimExecutable&>(executable).batch, number = ++batches_] {
    run_batch(*batch, DependencyBy::edges, number);
  });
}

bool SimDriver::read_early(std::int64_t batch, void* target, Address source, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  run_and_throw();
  for (const Early& early : early_) {
    if (early.batch != batch || early.result.address != source || early.result.bytes != bytes) {
      continue;
    }
    std::memcpy(target, early.value.data(), static_cast<std::size_t>(bytes));
    return true;
  }
  return false;
}

// As it is now: a command that writes it later would be wrong.
void SimDriver::keep_early(std::int64_t batch, const runtime::Argument& result) {
  Early& early = early_.emplace_back(Early{batch, result, {}});
  std::memcpy(early.value.data(), real(result.address, result.bytes, "an early result"),
              static_cast<std::size_t>(result.bytes));
  if (early_.size() > runtime::kEarlyResults) early_.pop_front();
}

std::optional<double> SimDriver::time_batch(std::span<const runtime::Command> commands) {
  const std::shared_ptr<const Batch> batch = copy_batch(commands);
  const std::lock_guard lock(mutex_);
  run_queue();
  const auto begin = std::chrono::steady_clock::now();
  tasks_.push_back(
      [this, batch, number = ++batches_] { run_batch(*batch, DependencyBy::groups, number); });
  run_and_throw();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<double> SimDriver::time(std::span<const runtime::Command> commands) {
  const std::shared_ptr<const Batch> batch = copy_batch(commands);
  const std::lock_guard lock(mutex_);
  run_queue();
  std::vector<double> seconds;
  for (const QueuedCommand& command : *batch) {
    const auto begin = std::chrono::steady_clock::now();
    attempt([&] { run_command(command); });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    seconds.push_back(took.count());
  }
  return seconds;
}

void SimDriver::queue(Task task, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  staged_bytes_ += bytes;
  if (tasks_.size() >= kLongQueue || staged_bytes_ >= kStagedBytes) run_queue();
}

void SimDriver::run_queue() {
  const std::vector<Task> tasks = std::move(tasks_);
  tasks_.clear();
  staged_bytes_ = 0;
  for (const Task& task : tasks) attempt(task);
}

void SimDriver::run_and_throw() {
  run_queue();
  if (error_.empty()) return;
  const std::string error = std::move(error_);
  error_.clear();
  throw Error(ErrorCode::device, error);
}

void SimDriver::attempt(const Task& task) {
  try {
    task();
  } catch (const std::exception& error) {
    if (error_.empty()) error_ = error.what();
  }
}

std::byte* SimDriver::real(Address address, std::int64_t bytes, const char* what) const {
  std::byte* const at = memory_.real(address, bytes);
  if (at != nullptr) return at;
  throw Error(ErrorCode::device,
              std::string("sim: ") + what + " of " + std::to_string(bytes) +
                  " bytes is not within one block of memory (or the block is freed)");
}

void SimDriver::run_batch(const Batch& batch, DependencyBy by, std::int64_t number) {
  const std::string hazard = find_hazard(batch, by);
  if (!hazard.empty() && error_.empty()) error_ = "sim: kernels " + hazard;
  for (const int next : run_order(batch, by, options_.schedule.order, random_)) {
    const QueuedCommand& command = batch[static_cast<std::size_t>(next)];
    attempt([&] {
      run_command(command);
      if (command.early.bytes != 0) keep_early(number, command.early);
    });
  }
}

void SimDriver::run_command(const QueuedCommand& command) {
  const KernelLibrary& library = *command.library;
  const std::int64_t threads = command.threads.product();
  if (command.groups.product() < 1 || threads < 1) fail(library, "runs on an empty grid");
  if (threads > library.max_threads()) {
    fail(library, "too many threads in a threadgroup" + at_most(threads, library.max_threads()));
  }
  // As a card does, where the arrays are more than every kernel may have.
  const std::int64_t most = library.asked_bytes() > properties_.threadgroup_memory
                                ? properties_.large_threadgroup_memory
                                : properties_.threadgroup_memory;
  if (library.threadgroup_bytes() > most) {
    fail(library, "too much threadgroup memory" + at_most(library.threadgroup_bytes(), most));
  }
  if (options_.check && !library.checked()) fail(library, "was compiled for another simulator");
  Grid grid;
  grid.name = library.name();
  grid.kernel = library.kernel();
  grid.groups = command.groups;
  grid.threads = command.threads;
  grid.arrays = library.arrays();
  grid.threadgroup_memory = properties_.threadgroup_memory;
  grid.library = library.mapped();
  grid.time_limit = options_.time_limit;
  if (options_.debug) grid.line_of = [&library](const void* at) { return library.line_of(at); };
  windows_.begin_launch();
  for (const QueuedCommand::Argument& argument : command.arguments) {
    GridArgument& mine = grid.arguments.emplace_back();
    mine.parameter = argument.parameter;
    mine.bytes = argument.bytes;
    if (argument.parameter->kind == Kind::constant) {
      if (argument.constant.empty()) {
        fail(library, "parameter '" + argument.parameter->name + "' has got no constant");
      }
      // Kernels only read it.
      mine.address = const_cast<std::byte*>(argument.constant.data());
      continue;
    }
    if (argument.bytes == 0) continue;
    const std::string what =
        "parameter '" + argument.parameter->name + "' of kernel '" + library.name() + "'";
    mine.address = real(argument.address, argument.bytes, what.c_str());
    if (!options_.check) continue;
    mine.address = windows_.open(argument.address, argument.bytes);
    mine.shadow = memory_.shadow(argument.address);
  }
  if (options_.check) {
    runner_.run_checked(grid);
  } else {
    runner_.run_fast(grid);
  }
}

}  // namespace hearth::sim
