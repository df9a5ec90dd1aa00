// What a GPU API is to Hearth: the least that CUDA, Metal and the simulator have in common. A port
// to another API is one Driver; encoder, kernel registry, pools, plans and all kernels are shared.
//
// Invariants
//   1. One in-order queue. Commands of one batch that are in the same group may run at the same
//      time, in any order; a group starts when the one before it is done.
//   2. submit(), copies to the device and launch() return before the work is done.
//   3. Addresses are numbers to the host unless properties().unified says otherwise. Offsets within
//      an allocation are added to them.
//   4. No call aborts the process. A fault of queued work is thrown as Error{device}, with the
//      kernel's name where it is known, by wait() or copy_to_host(), and by every call after it if
//      the device is lost.
// Thread-safe only as far as said; the caller serialises everything that queues work.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hearth/error.h"
#include "hearth/runtime.h"
#include "runtime/commands/library_call.h"
#include "runtime/device/device_spec.h"
#include "runtime/device/device_traits.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

class Autotuner;  // runtime/tune/autotuner.h

// What a command launches: a kernel that is ready to run, or a call of a library. Destroyed before
// its driver.
class Function {
 public:
  explicit Function(const KernelSource& source)
      : name_(source.name), parameters_(source.parameters), source_(source) {}
  explicit Function(const LibraryCall& call) : name_(call.name), parameters_(call.parameters) {}
  virtual ~Function() = default;
  const std::string& name() const noexcept { return name_; }
  const std::vector<KernelParameter>& parameters() const noexcept { return parameters_; }
  // Null for a call of a library.
  const KernelSource* source() const noexcept { return source_ ? &*source_ : nullptr; }
  // Whether an executable can hold it. A plan with one that none can is queued command by command.
  virtual bool is_recordable() const noexcept { return true; }

 private:
  std::string name_;
  std::vector<KernelParameter> parameters_;
  std::optional<KernelSource> source_;
};

// What a parameter gets: memory, or the bytes of a constant. Threadgroup arrays get nothing.
struct Argument {
  Address address = nullptr;
  std::int64_t bytes = 0;          // that the kernel may touch from `address` on
  const void* constant = nullptr;  // `bytes` bytes of host memory, copied when encoded
};

// A launch whose arguments are final. Constants lie in memory that the holder of the command keeps.
struct Command {
  const Function* function = nullptr;
  Size3 groups;
  Size3 threads;
  std::span<const Argument> arguments;  // one for each parameter that is no threadgroup array
  int group = 0;                        // never falls from one command to the next
  // Earlier commands of the batch, by index, that have to be done first.
  std::span<const int> after;
  // Multiplications and additions, of which two count as one; 0 where it is about one an element.
  double work = 0;
  // Of a launch whose threadgroups along x share out what there is to do, whatever their number:
  // as many as have something to do, and as many as the device runs at the same time, in all. 0: of
  // others.
  struct Shares {
    std::uint32_t most = 0, at_once = 0;
  };
  Shares shares = {};
  // Memory that the command is the last of the batch to write and that the host may ask for before
  // the rest is done: see Driver::read_early(). At most kEarlyBytes.
  Argument early = {};
};
inline constexpr std::int64_t kEarlyBytes = 8;
inline constexpr std::size_t kEarlyResults = 16;  // that a driver keeps, the last ones

inline bool are_recordable(std::span<const Command> commands) {
  return std::all_of(commands.begin(), commands.end(),
                     [](const Command& command) { return command.function->is_recordable(); });
}

// Commands in a form that the API runs again at little cost.
class Executable {
 public:
  virtual ~Executable() = default;
};

class Driver {
 public:
  virtual ~Driver() = default;
  virtual const Properties& properties() const = 0;

  // Memory. allocate() gives kAlignment and throws Error{out_of_memory}. A block may be freed while
  // queued work still names it; it is given up when that work is done. Both thread-safe.
  virtual Address allocate(std::int64_t bytes) = 0;
  virtual void free(Address address) noexcept = 0;
  // As those of DeviceImpl.
  virtual bool adopt(const std::byte* /*pages*/, std::int64_t /*bytes*/) { return false; }
  virtual void disown(const std::byte* /*pages*/, std::shared_ptr<const void> /*keeper*/) noexcept {
  }

  // Compiles a kernel to an image that load() takes, now or in another process with the same
  // compiler_version() and architecture. Throws Error{device} with the compiler's messages.
  // Thread-safe.
  virtual std::vector<std::byte> compile(const KernelSource& source) = 0;
  // Kernels that are compiled together, by `threads` threads, divided among programs: those of
  // one source are for compile(), those of several for compile_together().
  virtual std::vector<std::vector<const KernelSource*>> divide_among_programs(
      std::span<const KernelSource* const> sources, int threads) const;
  // One image that load() takes for each of the sources. Throws as compile() does, for any of them.
  // Thread-safe.
  virtual std::vector<std::byte> compile_together(std::span<const KernelSource* const> sources);
  virtual std::string compiler_version() const = 0;
  // Told before anything is compiled where images are loaded by this process alone: what only makes
  // them load sooner may be left out.
  virtual void keep_no_images() {}
  // Throws Error{corrupt_file} for an image that is none. Thread-safe.
  virtual std::unique_ptr<Function> load(const KernelSource& source,
                                         std::span<const std::byte> image) = 0;

  // Libraries of the vendor, where the driver calls any: what they do, and a call of one. Which of
  // a library's algorithms serves a problem `tuner` decides, which outlives the function.
  // Thread-safe.
  virtual LibraryTraits libraries() const { return {}; }
  virtual std::unique_ptr<Function> library_function(const LibraryCall& call,
                                                     Autotuner& /*tuner*/) {
    throw Error(ErrorCode::unsupported, call.name + ": no library; got " + call.function +
                                            ", expected one that libraries() names");
  }

  // How many bytes of arguments a launch may carry, where it takes those of several launches as
  // batched_kernel.h says; 0 where it does not.
  virtual std::int64_t argument_bytes() const { return 0; }

  // Queues commands; what they name is copied before the call returns.
  virtual void submit(std::span<const Command> commands) = 0;
  // `source` may be reused when the call returns.
  virtual void copy_to_device(Address target, const void* source, std::int64_t bytes) = 0;
  virtual void copy_on_device(Address target, Address source, std::int64_t bytes) = 0;
  virtual void fill(Address target, std::uint8_t value, std::int64_t bytes) = 0;
  // Waits for all that was queued before.
  virtual void copy_to_host(void* target, Address source, std::int64_t bytes) = 0;
  virtual void wait() = 0;

  // How many times submit() and launch() have queued something: the number of the last batch.
  virtual std::int64_t queued_batches() const { return 0; }
  // What a command of that batch has put at `source` as Command::early; waits for that command
  // alone. False where the driver keeps no such thing, or no longer.
  virtual bool read_early(std::int64_t /*batch*/, void* /*target*/, Address /*source*/,
                          std::int64_t /*bytes*/) {
    return false;
  }

  // An executable form of the commands, or null where the API has none, or none of a function that
  // is not recordable. launch() queues it.
  virtual std::unique_ptr<Executable> instantiate(std::span<const Command> /*commands*/) {
    return nullptr;
  }
  // The same commands with other addresses or constants. False: instantiate anew.
  virtual bool update(Executable& /*executable*/, std::span<const Command> /*commands*/) {
    return false;
  }
  virtual void launch(Executable& /*executable*/) {}

  // Seconds that each command of a batch takes on the device, run one after the other; slow, for
  // timelines. Empty where the API cannot tell.
  virtual std::vector<double> time(std::span<const Command> /*commands*/) { return {}; }
  // Runs a batch as submit() does, when all before it is done, waits for it, and gives the seconds
  // from its beginning to its end by the device's clock. Nothing where the API cannot tell.
  virtual std::optional<double> time_batch(std::span<const Command> commands) {
    submit(commands);
    wait();
    return std::nullopt;
  }
};

inline std::vector<std::vector<const KernelSource*>> Driver::divide_among_programs(
    std::span<const KernelSource* const> sources, int /*threads*/) const {
  std::vector<std::vector<const KernelSource*>> programs;
  for (const KernelSource* source : sources) programs.push_back({source});
  return programs;
}

inline std::vector<std::byte> Driver::compile_together(
    std::span<const KernelSource* const> sources) {
  throw Error(ErrorCode::unsupported, "driver: kernels are compiled one by one; got " +
                                          std::to_string(sources.size()) + " for one program");
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
