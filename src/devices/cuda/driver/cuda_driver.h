// The runtime's Driver over CUDA: one card, its primary context and one queue.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "devices/cuda/driver/commands/library_function.h"
#include "devices/cuda/driver/compile/cuda_module.h"
#include "devices/cuda/driver/compile/nvrtc.h"
#include "devices/cuda/driver/context.h"
#include "devices/cuda/driver/driver_api.h"
#include "devices/cuda/driver/early_results.h"
#include "devices/cuda/driver/staging_ring.h"
#include "runtime/commands/driver.h"

namespace hearth::cuda {

// Asks the card; takes no memory on it. Throws Error{device}.
runtime::Properties card_properties(const DriverApi& api, Card card);
// 9.0 is 90.
int compute_capability(const DriverApi& api, Card card);

// Makes a library ready for the card of a context; takes no memory on it.
using LibraryMaker = std::function<std::unique_ptr<VendorLibrary>(Context&)>;

class CudaDriver final : public runtime::Driver {
 public:
  // Throws Error{device} if the card cannot be asked for its properties. `compiler` may be null;
  // compile() then throws Error{unsupported}.
  CudaDriver(std::shared_ptr<const DriverApi> api, Card card, std::shared_ptr<const Nvrtc> compiler,
             std::span<const LibraryMaker> libraries = {});
  ~CudaDriver() override;

  const runtime::Properties& properties() const override { return properties_; }

  // Blocks of the API, allocated and freed immediately: the pools above recycle them, so calls
  // are rare, and a pool of the driver's below would only hide what is in use. free() waits for all
  // queued work, which may still name the block.
  Address allocate(std::int64_t bytes) override;
  void free(Address address) noexcept override;

  std::vector<std::byte> compile(const runtime::KernelSource& source) override;
  std::vector<std::vector<const runtime::KernelSource*>> divide_among_programs(
      std::span<const runtime::KernelSource* const> sources, int threads) const override;
  std::vector<std::byte> compile_together(
      std::span<const runtime::KernelSource* const> sources) override;
  std::string compiler_version() const override;
  std::unique_ptr<runtime::Function> load(const runtime::KernelSource& source,
                                          std::span<const std::byte> image) override;

  runtime::LibraryTraits libraries() const override;
  std::unique_ptr<runtime::Function> library_function(const runtime::LibraryCall& call,
                                                      runtime::Autotuner& tuner) override;

  std::int64_t argument_bytes() const override { return argument_bytes_; }

  // Commands run one after the other, also those of one group; a graph runs them concurrently.
  void submit(std::span<const runtime::Command> commands) override;
  void copy_to_device(Address target, const void* source, std::int64_t bytes) override;
  void copy_on_device(Address target, Address source, std::int64_t bytes) override;
  void fill(Address target, std::uint8_t value, std::int64_t bytes) override;
  void copy_to_host(void* target, Address source, std::int64_t bytes) override;
  void wait() override;

  std::int64_t queued_batches() const override { return batches_; }
  bool read_early(std::int64_t batch, void* target, Address source, std::int64_t bytes) override;

  std::unique_ptr<runtime::Executable> instantiate(
      std::span<const runtime::Command> commands) override;
  bool update(runtime::Executable& executable, std::span<const runtime::Command> commands) override;
  void launch(runtime::Executable& executable) override;

  std::vector<double> time(std::span<const runtime::Command> commands) override;
  std::optional<double> time_batch(std::span<const runtime::Command> commands) override;

 private:
  const Nvrtc& compiler_for(const std::string& kernel) const;
  void enqueue(const runtime::Command& command);

  const std::shared_ptr<const DriverApi> api_;
  const std::shared_ptr<const Nvrtc> compiler_;
  const runtime::Properties properties_;
  const int capability_;
  const std::int64_t argument_bytes_;
  Context context_;
  StagingRing staging_;
  EarlyResults early_;
  std::int64_t batches_ = 0;
  CudaModules modules_;
  std::vector<std::unique_ptr<VendorLibrary>> libraries_;
};

}  // namespace hearth::cuda
