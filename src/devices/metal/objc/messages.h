// The messages of messages.def, typed: what a message is sent with, what comes back, and who owns
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "devices/metal/objc/types.h"

namespace hearth::metal {

// Whether a method of this name returns an object that its caller owns, as Cocoa's rules have it:
// the name begins with new, alloc, copy, mutableCopy or init as a word.
constexpr bool returns_owned(std::string_view selector) {
  while (!selector.empty() && selector.front() == '_') selector.remove_prefix(1);
  for (const std::string_view family : {"new", "alloc", "copy", "mutableCopy", "init"}) {
    if (selector.substr(0, family.size()) != family) continue;
    const std::string_view rest = selector.substr(family.size());
    if (rest.empty() || rest.front() < 'a' || rest.front() > 'z') return true;
  }
  return false;
}

// `kOwned`: see returns_owned(). The index is that of message_table().
template <class Signature, bool kOwned>
struct Message;
template <class R, class... A, bool kOwned>
struct Message<R(A...), kOwned> {
  std::uint16_t index;
};

enum class MessageIndex : std::uint16_t {
#define HEARTH_MESSAGE(token, ...) token,
#include "devices/metal/objc/messages.def"
#undef HEARTH_MESSAGE
  count,
};
inline constexpr auto kMessages = static_cast<std::size_t>(MessageIndex::count);

namespace messages {
#define HEARTH_MESSAGE(token, receiver, owner, selector, signature, since, source) \
  inline constexpr Message<signature, returns_owned(selector)> token{              \
      static_cast<std::uint16_t>(MessageIndex::token)};
#include "devices/metal/objc/messages.def"
#undef HEARTH_MESSAGE
}  // namespace messages

// A row of the table.
struct MessageInfo {
  enum class Receiver : std::uint8_t { object, type };
  std::string_view token;
  Receiver receiver;
  std::string_view owner;  // class or protocol
  const char* selector;
  std::string (*encoding)();  // as plain_encoding()
  bool is_owned;
  SystemVersion since;
  std::string_view source;
};

std::span<const MessageInfo, kMessages> message_table();

}  // namespace hearth::metal
