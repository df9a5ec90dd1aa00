#include "codegen/kernel_constants.h"

#include <cstring>

#include "codegen/text/text_builder.h"
#include "core/integer_math.h"

namespace hearth::gpu {

void KernelConstants::add(Type type, std::string name, std::vector<std::int64_t> values) {
  if (values.empty()) return;
  members_.push_back({type, std::move(name), std::move(values)});
}

std::string KernelConstants::text(const std::string& name) const {
  constexpr const char* kTypes[] = {"uint", "int", "ulong", "long"};
  std::string text = joined("struct ", name, " {\n");
  for (const bool wide : {true, false}) {
    for (const Member& member : members_) {
      if (member.wide() != wide) continue;
      text += joined("  ", kTypes[static_cast<int>(member.type)], " ", member.name);
      if (member.values.size() > 1) text += joined("[", member.values.size(), "]");
      text += ";\n";
    }
  }
  text += "};\n";
  return text;
}

std::vector<std::byte> KernelConstants::bytes() const {
  std::vector<std::byte> bytes;
  const auto append = [&bytes](auto value) {
    const std::size_t at = bytes.size();
    bytes.resize(at + sizeof(value));
    std::memcpy(bytes.data() + at, &value, sizeof(value));
  };
  bool any_wide = false;
  for (const bool wide : {true, false}) {
    for (const Member& member : members_) {
      if (member.wide() != wide) continue;
      any_wide |= wide;
      for (const std::int64_t value : member.values) {
        if (wide) {
          append(value);
        } else {
          append(static_cast<std::uint32_t>(value));
        }
      }
    }
  }
  if (any_wide) bytes.resize(round_up(bytes.size(), 8));
  return bytes;
}

}  // namespace hearth::gpu
