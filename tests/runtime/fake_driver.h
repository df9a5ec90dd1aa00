// A driver that runs nothing: it keeps what it was asked to do.
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/commands/driver.h"

namespace hearth::runtime {

class FakeDriver final : public Driver {
 public:
  explicit FakeDriver(std::int64_t memory = std::int64_t{1} << 24) {
    properties_.architecture = "fake";
    properties_.memory = memory;
  }
  ~FakeDriver() override {
    for (const auto& [address, bytes] : blocks) std::free(address);
  }
  const Properties& properties() const override { return properties_; }

  Address allocate(std::int64_t bytes) override {
    std::int64_t held = 0;
    for (const auto& block : blocks) held += block.second;
    if (held + bytes > properties_.memory) {
      throw Error(ErrorCode::out_of_memory, "fake: no memory; got " + std::to_string(bytes));
    }
    auto* address = static_cast<Address>(
        std::aligned_alloc(kAlignment, static_cast<std::size_t>((bytes + 63) / 64 * 64)));
    blocks[address] = bytes;
    return address;
  }
  void free(Address address) noexcept override {
    blocks.erase(address);
    std::free(address);
  }

  std::vector<std::byte> compile(const KernelSource& source) override {
    ++compiled;
    if (source.text == "broken") throw Error(ErrorCode::device, source.name + ": syntax error");
    std::vector<std::byte> image(source.text.size());
    std::memcpy(image.data(), source.text.data(), image.size());
    return image;
  }
  // Two of different names make a program: its image is their texts, between strokes.
  std::vector<std::vector<const KernelSource*>> divide_among_programs(
      std::span<const KernelSource* const> sources, int threads) const override {
    if (!shares_programs) return Driver::divide_among_programs(sources, threads);
    std::vector<std::vector<const KernelSource*>> programs;
    for (const KernelSource* source : sources) {
      if (programs.empty() || programs.back().size() == 2) programs.emplace_back();
      programs.back().push_back(source);
    }
    return programs;
  }
  std::vector<std::byte> compile_together(std::span<const KernelSource* const> sources) override {
    ++programs_compiled;
    std::string texts = "|";
    for (const KernelSource* source : sources) {
      if (source->text == "broken") throw Error(ErrorCode::device, "program: syntax error");
      texts += source->text + "|";
    }
    std::vector<std::byte> image(texts.size());
    std::memcpy(image.data(), texts.data(), image.size());
    return image;
  }
  std::string compiler_version() const override { return version; }
  std::unique_ptr<Function> load(const KernelSource& source,
                                 std::span<const std::byte> image) override {
    const std::string_view held(reinterpret_cast<const char*>(image.data()), image.size());
    if (held != source.text && held.find("|" + source.text + "|") == held.npos) {
      throw Error(ErrorCode::corrupt_file, source.name + ": not an image");
    }
    return std::make_unique<Function>(source);
  }

  void submit(std::span<const Command> commands) override { submitted += commands.size(); }
  void copy_to_device(Address, const void*, std::int64_t) override {}
  void copy_on_device(Address, Address, std::int64_t) override {}
  void fill(Address, std::uint8_t, std::int64_t) override {}
  void copy_to_host(void*, Address, std::int64_t) override {}
  void wait() override {}

  std::map<Address, std::int64_t> blocks;
  std::string version = "1";
  std::atomic<int> compiled = 0;  // sources that were compiled alone
  bool shares_programs = false;
  std::atomic<int> programs_compiled = 0;
  std::size_t submitted = 0;

 private:
  Properties properties_;
};

inline KernelSource fake_source(const std::string& name, const std::string& text = "text") {
  return {name,
          text,
          name,
          {{KernelParameter::Kind::read, "float", "x"},
           {KernelParameter::Kind::write, "float", "y"},
           {KernelParameter::Kind::constant, "P", "p"}}};
}

}  // namespace hearth::runtime
