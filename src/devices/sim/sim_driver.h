// A GPU that is simulated on the CPU: a runtime::Driver that runs kernels as the host compiler
// makes them of their text, and finds out what they do wrong.
//
// Work is done as late as the contract allows: when somebody waits or copies to the host, or when
// much is queued. What it finds wrong is thrown then, once; the rest of the queue runs all the
// same. An error names the kernel and, where there is one, the thread:
//   - a parameter, a threadgroup array or a constant is accessed out of bounds or against its kind,
//     threadgroup memory is read before it is written, threads race (with `check`;
//     access_checker.h)
//   - memory around a block is touched, a stack is used up (always)
//   - some threads return before a barrier or a simd operation that others wait at, or meet at
//     different ones (always)
//   - commands of one group, or without an edge between them, share memory that one of them writes
//   - an argument is not within one block
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "devices/sim/command_order.h"
#include "devices/sim/launch.h"
#include "devices/sim/memory/argument_windows.h"
#include "devices/sim/memory/simulated_memory.h"
#include "devices/sim/threads/grid_runner.h"
#include "runtime/commands/driver.h"

namespace hearth::sim {

struct SimOptions {
  Schedule schedule = {};  // of threads, of threadgroups, and of the commands of a group
  // Judge every access, on one processor. Without, kernels run on all of them.
  bool check = true;
  // Faults name lines of the text, and indices outside a kernel's own arrays are faults (with
  // `check`).
  bool debug = false;
  // Of a launch (with `check`), and of the processor's time that compiling a kernel takes, in
  // seconds; 0: none. What takes longer is a fault, which names the thread and where it was.
  double time_limit = 0;
  Placement placement = Placement::right;
  std::int64_t memory = std::int64_t{8} << 30;
  std::int64_t argument_bytes = 2048;  // little, so that tests see batches split; 0: no batches
};

// Whatever queues or waits may be called by any thread, too; it is done one after the other.
class SimDriver : public runtime::Driver {
 public:
  explicit SimDriver(const SimOptions& options = {});
  // Work that nobody waited for is dropped.
  ~SimDriver() override = default;

  const runtime::Properties& properties() const override { return properties_; }
  Address allocate(std::int64_t bytes) override;
  void free(Address address) noexcept override;
  std::vector<std::byte> compile(const runtime::KernelSource& source) override;
  std::string compiler_version() const override;
  std::unique_ptr<runtime::Function> load(const runtime::KernelSource& source,
                                          std::span<const std::byte> image) override;
  std::int64_t argument_bytes() const override { return options_.argument_bytes; }
  void submit(std::span<const runtime::Command> commands) override;
  void copy_to_device(Address target, const void* source, std::int64_t bytes) override;
  void copy_on_device(Address target, Address source, std::int64_t bytes) override;
  void fill(Address target, std::uint8_t value, std::int64_t bytes) override;
  void copy_to_host(void* target, Address source, std::int64_t bytes) override;
  void wait() override;
  // Executables run by their commands' edges, never by their groups.
  std::unique_ptr<runtime::Executable> instantiate(
      std::span<const runtime::Command> commands) override;
  bool update(runtime::Executable& executable, std::span<const runtime::Command> commands) override;
  void launch(runtime::Executable& executable) override;
  std::vector<double> time(std::span<const runtime::Command> commands) override;
  std::optional<double> time_batch(std::span<const runtime::Command> commands) override;
  std::int64_t queued_batches() const override { return batches_; }
  bool read_early(std::int64_t batch, void* target, Address source, std::int64_t bytes) override;

  // Allocations beyond it fail. The device keeps what it has.
  void set_memory_limit(std::int64_t bytes) { memory_.set_limit(bytes); }
  std::int64_t memory_in_use() const { return memory_.in_use(); }

 protected:
  // As load(), of a function that executables may refuse: see runtime::Function::is_recordable().
  std::unique_ptr<runtime::Function> load(const runtime::KernelSource& source,
                                          std::span<const std::byte> image, bool recordable);

 private:
  using Task = std::function<void()>;
  struct Early {
    std::int64_t batch;
    runtime::Argument result;
    std::array<std::byte, runtime::kEarlyBytes> value;
  };

  void queue(Task task, std::int64_t bytes = 0);
  void run_queue();
  void run_and_throw();
  void attempt(const Task& task);
  void run_batch(const Batch& batch, DependencyBy by, std::int64_t number);
  void keep_early(std::int64_t batch, const runtime::Argument& result);
  void run_command(const QueuedCommand& command);
  std::byte* real(Address address, std::int64_t bytes, const char* what) const;

  SimOptions options_;
  runtime::Properties properties_;
  SimulatedMemory memory_;
  std::mutex mutex_;  // of all below
  ArgumentWindows windows_;
  GridRunner runner_;
  Random random_;
  std::vector<Task> tasks_;
  std::int64_t staged_bytes_ = 0;  // of copies in tasks_
  std::int64_t batches_ = 0;       // queued; by whoever queues, without the mutex
  std::deque<Early> early_;
  std::string error_;  // the first since somebody waited
};

}  // namespace hearth::sim
