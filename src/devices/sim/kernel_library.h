// A compiled kernel in this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "devices/sim/launch.h"

namespace hearth::sim {

// What compile() returns: a library's bytes and, after them, how many there are and their
// checksum.
std::vector<std::byte> seal_image(std::vector<std::byte> library);

class KernelLibrary {
 public:
  // Throws Error{corrupt_file} for bytes that no seal_image() made, or that lack this kernel.
  KernelLibrary(const hearth::runtime::KernelSource& source, std::span<const std::byte> image);
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  const std::string& name() const noexcept { return name_; }
  const std::vector<hearth::runtime::KernelParameter>& parameters() const noexcept {
    return parameters_;
  }
  int max_threads() const noexcept { return max_threads_; }
  // Launches that one of it may stand for; 0 for an ordinary kernel.
  int members() const noexcept { return members_; }
  HearthKernel kernel() const noexcept { return kernel_; }
  const std::vector<ThreadgroupArray>& arrays() const noexcept { return arrays_; }
  std::int64_t threadgroup_bytes() const;
  // Bytes that a launch can ask for, for its arrays; 0: they are static always.
  std::int64_t asked_bytes() const noexcept { return asked_bytes_; }
  // True if it reports its accesses.
  bool checked() const noexcept { return checked_; }
  // Its code and data.
  std::span<const std::byte> mapped() const noexcept { return mapped_; }
  // Where in the text the instruction before this address comes from ("axpy:5"); empty where the
  // library does not say, as one without debug lines.
  std::string line_of(const void* instruction) const;
  // What else the library exports; null where there is no such symbol.
  void* symbol(const std::string& name) const;

 private:
  std::string name_;
  std::vector<hearth::runtime::KernelParameter> parameters_;
  int max_threads_;
  int members_;
  std::int64_t asked_bytes_;
  void* handle_ = nullptr;
  HearthKernel kernel_ = nullptr;
  std::vector<ThreadgroupArray> arrays_;
  bool checked_ = false;
  std::span<const std::byte> mapped_;
  std::vector<std::byte> bytes_;
};

}  // namespace hearth::sim
