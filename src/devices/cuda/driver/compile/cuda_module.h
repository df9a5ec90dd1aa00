// Images on a card. One image may hold several kernels, and is loaded once for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "devices/cuda/driver/context.h"

namespace hearth::cuda {

class CudaModule {
 public:
  // `kernel` is whom the image is loaded for, for messages. Throws Error{corrupt_file} for an image
  // that is no code for this card.
  CudaModule(Context& context, const std::string& kernel, std::span<const std::byte> image);
  ~CudaModule();
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;

  // Within a scope of the context. Throws Error{corrupt_file} where there is none of this name.
  FunctionHandle function(const std::string& kernel) const;

 private:
  void check(const std::string& kernel, Result result, const char* call, const char* log) const;

  Context& context_;
  ModuleHandle module_ = nullptr;
};

// The modules of one card, as long as a kernel uses them. Thread-safe.
class CudaModules {
 public:
  explicit CudaModules(Context& context) : context_(context) {}
  std::shared_ptr<const CudaModule> load(const std::string& kernel,
                                         std::span<const std::byte> image);

 private:
  using Key = std::pair<std::size_t, std::uint64_t>;  // bytes and checksum of an image

  Context& context_;
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<const CudaModule>> modules_;
};

}  // namespace hearth::cuda
