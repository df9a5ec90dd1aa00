#include "devices/metal/objc/messages.h"

#include "devices/metal/objc/encoding.h"

namespace hearth::metal {
namespace {

constexpr SystemVersion macos(Integer major, Integer minor) { return {major, minor, 0}; }

constexpr MessageInfo kTable[] = {
#define HEARTH_MESSAGE(token, receiver, owner, selector, signature, since, source) \
  {#token,                                                                         \
   MessageInfo::Receiver::receiver,                                                \
   #owner,                                                                         \
   selector,                                                                       \
   &SignatureEncoding<signature>::text,                                            \
   returns_owned(selector),                                                        \
   since,                                                                          \
   source},
#include "devices/metal/objc/messages.def"
#undef HEARTH_MESSAGE
};

}  // namespace

std::span<const MessageInfo, kMessages> message_table() { return kTable; }

}  // namespace hearth::metal
