// One queue of a device, and what is on its way there: an encoder that is kept open, command
// buffers that run.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "devices/metal/driver/chip.h"
#include "devices/metal/driver/commands/bound_arguments.h"
#include "devices/metal/driver/memory/reached_buffers.h"
#include "devices/metal/driver/memory/residency.h"
#include "devices/metal/objc/objc.h"

namespace hearth::metal {

// A kernel's name, which may be asked for when the kernel is gone.
using KernelName = std::shared_ptr<const std::string>;

// What commands come to.
struct Load {
  std::int64_t commands = 0;
  std::int64_t bytes = 0;  // that they name
  double work = 0;         // as Command::work

  Load& operator+=(const Load& other) {
    commands += other.commands;
    bytes += other.bytes;
    work += other.work;
    return *this;
  }
};

// Used by one thread at a time. Metal keeps what is set for commands alive until they are done.
class CommandStream {
 public:
  // `device` and `residency` outlive it.
  CommandStream(const ObjectiveC& objc, Id device, Residency& residency, const Chip& chip,
                std::string name);
  // Waits for what runs; what was not committed is dropped.
  ~CommandStream();
  CommandStream(const CommandStream&) = delete;
  CommandStream& operator=(const CommandStream&) = delete;

  // A concurrent compute encoder to encode commands with, until the next commit() or wait(). Throws
  // Error{device} where there is none to be had.
  Id encoder();
  // What the next command reaches by addresses; kept alive until it is done.
  ReachedBuffers& reached() noexcept { return reached_; }
  BoundArguments& bound() noexcept { return bound_; }  // of the open encoder
  // Gives `encode` the command buffer, wrapped as an MPSCommandBuffer, while no encoder is open.
  // One wrapper serves until commit(): it keeps the memory of what calls need between. What is
  // encoded so follows all before it and comes before all after it: memory is tracked by Metal. It
  // may commit the command buffer and go on in others. `call`, of this load, is noted.
  void encode_call(const KernelName& call, const Load& load, const std::function<void(Id)>& encode);
  // A command was encoded.
  void note(const KernelName& kernel, const Load& load);
  const Load& encoded() const noexcept { return load_; }
  // It is as much as `times` what a command buffer should have at least.
  bool fills(const Load& load, std::int64_t times = 1) const noexcept {
    return load.commands >= times * chip_.commands || load.bytes >= times * chip_.bytes;
  }
  // A command buffer of so much work should have no more of it.
  bool is_long(const Load& load) const noexcept { return load.work >= chip_.work(); }
  // Starts what was encoded.
  void commit();
  // Nothing is encoded or runs.
  bool is_idle();
  // Which command buffer of the queue is encoded, or will be next, and how many are known to be
  // done.
  std::int64_t number() const noexcept { return committed_; }
  std::int64_t done();
  // Commits and waits for all. Throws Error{device} for the first command buffer that failed since
  // the last call, with the names of its kernels. Returns the seconds that all of them took.
  double wait();

 private:
  struct Running {
    Owned buffer;
    std::vector<KernelName> kernels;
    std::vector<Owned> reached;
  };

  // Makes a command buffer where there is none that is encoded.
  void open();
  void close();
  // The command buffer that was encoded, and is committed, is one of those that run.
  void follow();
  // The command buffer that is encoded, after one that was committed by somebody else.
  void go_on_in(Id buffer);
  // Takes out the oldest command buffer, which has ended; its seconds.
  double finish_oldest();
  std::string failure(const Running& running) const;

  const ObjectiveC& objc_;
  Residency& residency_;
  const Chip chip_;
  const std::string name_;
  const Owned queue_;
  Owned buffer_;                     // that is encoded
  Owned encoder_;                    // of buffer_; null where none is open
  Owned wrapper_;                    // of buffer_, an MPSCommandBuffer; null before the first call
  std::vector<KernelName> kernels_;  // of buffer_
  Load load_;                        // of buffer_
  ReachedBuffers reached_;           // of encoder_
  BoundArguments bound_;             // likewise
  std::vector<Owned> kept_;          // that ended encoders of buffer_ reached
  std::int64_t committed_ = 0;
  std::int64_t done_ = 0;
  std::deque<Running> running_;  // the oldest first
  std::string fault_;
};

}  // namespace hearth::metal
