// The runtime's Driver over Metal: one device and one queue.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "devices/metal/driver/capture.h"
#include "devices/metal/driver/commands/argument_ring.h"
#include "devices/metal/driver/commands/barriers.h"
#include "devices/metal/driver/commands/command_stream.h"
#include "devices/metal/driver/commands/device_copies.h"
#include "devices/metal/driver/compile/compiler.h"
#include "devices/metal/driver/compile/metal_kernel.h"
#include "devices/metal/driver/compile/pipelines.h"
#include "devices/metal/driver/memory/buffers.h"
#include "devices/metal/driver/memory/residency.h"
#include "devices/metal/mpsgraph/mps_library.h"
#include "runtime/commands/driver.h"

namespace hearth::metal {

// Asks the device.
runtime::Properties device_properties(const ObjectiveC& objc, Id device, SystemVersion system);
// What a batched launch may carry: 0 unless structs may hold addresses, as on devices of Metal 3
// with argument buffers of the second tier.
std::int64_t most_argument_bytes(const ObjectiveC& objc, Id device);

// Accesses of the host are immediate where the queue is idle, and queued otherwise.
class MetalDriver final : public runtime::Driver {
 public:
  // `capture`: of the first commands that are submitted or launched; may be null, and so may `mps`,
  // the library of the device. Throws Error{device} where the device gives no queue.
  MetalDriver(std::shared_ptr<const ObjectiveC> objc, Owned device, SystemVersion system,
              std::shared_ptr<Capture> capture, std::unique_ptr<MpsLibrary> mps);
  ~MetalDriver() override = default;

  const runtime::Properties& properties() const override { return properties_; }

  Address allocate(std::int64_t bytes) override { return buffers_.allocate(bytes); }
  void free(Address address) noexcept override { buffers_.free(address); }
  bool adopt(const std::byte* pages, std::int64_t bytes) override {
    return buffers_.adopt(pages, bytes);
  }
  void disown(const std::byte* pages, std::shared_ptr<const void> keeper) noexcept override {
    buffers_.disown(pages, std::move(keeper));
  }

  std::vector<std::byte> compile(const runtime::KernelSource& source) override;
  std::string compiler_version() const override;
  // Whether Metal computes bf16 here; otherwise kernels convert by themselves.
  bool has_bfloat() const { return compiler_.has_bfloat(); }
  void keep_no_images() override { compiler_.make_no_archives(); }
  std::unique_ptr<runtime::Function> load(const runtime::KernelSource& source,
                                          std::span<const std::byte> image) override;

  std::int64_t argument_bytes() const override { return argument_bytes_; }

  runtime::LibraryTraits libraries() const override {
    return mps_ == nullptr ? runtime::LibraryTraits{} : mps_->traits();
  }
  std::unique_ptr<runtime::Function> library_function(const runtime::LibraryCall& call,
                                                      runtime::Autotuner& tuner) override;

  void submit(std::span<const runtime::Command> commands) override;
  void copy_to_device(Address target, const void* source, std::int64_t bytes) override;
  void copy_on_device(Address target, Address source, std::int64_t bytes) override;
  void fill(Address target, std::uint8_t value, std::int64_t bytes) override;
  void copy_to_host(void* target, Address source, std::int64_t bytes) override;
  void wait() override;

  // An executable keeps copies of commands: Metal has no form of its own that is launched sooner
  // than it is encoded.
  std::unique_ptr<runtime::Executable> instantiate(
      std::span<const runtime::Command> commands) override;
  void launch(runtime::Executable& executable) override;

  std::vector<double> time(std::span<const runtime::Command> commands) override;
  std::optional<double> time_batch(std::span<const runtime::Command> commands) override;

 private:
  // Memory of one command, by argument; `buffer` is null for constants.
  using Places = std::vector<BufferPlace>;

  void submit_captured(std::span<const runtime::Command> commands);
  void submit_groups(std::span<const runtime::Command> commands);
  // Takes what it encodes from `left`.
  void submit_group(std::span<const runtime::Command> group, Load& left);
  BufferPlace place_of(const runtime::Argument& argument);
  void find_places(const runtime::Command& command);
  void wait_for_earlier(Id encoder);
  void encode_call(const runtime::Command& command, const BufferPlace* places);
  void encode(Id encoder, const runtime::Command& command, const BufferPlace* places);
  void set_buffer(Id encoder, const BufferPlace& place, UInteger index);
  void set_bytes(Id encoder, const void* bytes, std::int64_t count, UInteger index);
  // Of a constant that is too long for the encoder to copy: where its bytes are to be written.
  std::byte* set_large(Id encoder, std::int64_t bytes, UInteger index);
  // All arguments of a batched kernel.
  void set_batch(Id encoder, const runtime::Command& command, const BufferPlace* places);

  const std::shared_ptr<const ObjectiveC> objc_;
  const Owned device_;
  const std::shared_ptr<Capture> capture_;
  const std::unique_ptr<MpsLibrary> mps_;
  const runtime::Properties properties_;
  const std::int64_t argument_bytes_;
  Pipelines pipelines_;
  Compiler compiler_;
  Residency residency_;
  Buffers buffers_;
  CommandStream stream_;
  ArgumentRing ring_;
  DeviceCopies copies_;
  Barriers barriers_;
  Places places_;         // of the current group, one command after the other
  Address nothing_ = {};  // what arguments of no bytes are bound to
};

}  // namespace hearth::metal
