// The constant struct of a generated kernel: its text and its bytes from one list of members, so
// that the two cannot differ. The text depends on names and counts only, never on values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hearth::gpu {

class KernelConstants {
 public:
  enum class Type : std::uint8_t { u32, i32, u64, i64 };

  // 32 or 64 bits for every position and offset.
  explicit KernelConstants(bool wide) : wide_(wide) {}

  void add(Type type, std::string name, std::vector<std::int64_t> values);
  void add_u32(std::string name, std::int64_t value) { add(Type::u32, std::move(name), {value}); }
  // Members of the region's index types.
  void add_positions(std::string name, std::vector<std::int64_t> values) {
    add(wide_ ? Type::u64 : Type::u32, std::move(name), std::move(values));
  }
  void add_offsets(std::string name, std::vector<std::int64_t> values) {
    add(wide_ ? Type::i64 : Type::i32, std::move(name), std::move(values));
  }
  bool wide() const noexcept { return wide_; }

  // "struct Name {...};". Members of 8 bytes come first, so that there is no padding inside.
  std::string text(const std::string& name) const;
  std::vector<std::byte> bytes() const;

 private:
  struct Member {
    Type type;
    std::string name;
    std::vector<std::int64_t> values;  // more than one: an array
    bool wide() const { return type == Type::u64 || type == Type::i64; }
  };
  bool wide_;
  std::vector<Member> members_;
};

}  // namespace hearth::gpu
