// The table of messages, and how the runtime writes their types.
#include "devices/metal/objc/messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "devices/metal/objc/encoding.h"

namespace hearth::metal {
namespace {

const MessageInfo& row(std::string_view token) {
  for (const MessageInfo& info : message_table()) {
    if (info.token == token) return info;
  }
  ADD_FAILURE() << token;
  return message_table().front();
}

TEST(MetalMessages, TypesAreWrittenAsTheRuntimeDoes) {
  EXPECT_EQ(row("retain").encoding(), "@@:");
  EXPECT_EQ(row("release").encoding(), "v@:");
  EXPECT_EQ(row("new_buffer").encoding(), "@@:QQ");
  EXPECT_EQ(row("new_library").encoding(), "@@:@@^@");
  EXPECT_EQ(row("set_bytes").encoding(), "v@:^vQQ");
  EXPECT_EQ(row("dispatch_groups").encoding(), "v@:{?=QQQ}{?=QQQ}");
  EXPECT_EQ(row("is_system_at_least").encoding().substr(1), "@:{?=qqq}");
  EXPECT_EQ(row("utf8_string").encoding(), "*@:");
  EXPECT_EQ(row("gpu_start_time").encoding(), "d@:");
#if defined(__x86_64__)
  EXPECT_EQ(row("set_fast_math").encoding(), "v@:c");
#else
  EXPECT_EQ(row("set_fast_math").encoding(), "v@:B");
#endif
}

TEST(MetalMessages, PlainTypesAreWithoutWhatACallDoesNotSee) {
  EXPECT_EQ(plain_encoding("@32@0:8Q16Q24"), "@@:QQ");
  EXPECT_EQ(plain_encoding("v40@0:8r^v16Q24Q32"), "v@:^vQQ");
  EXPECT_EQ(plain_encoding("@40@0:8@\"NSString\"16@\"MTLCompileOptions\"24o^@32"), "@@:@@^@");
  EXPECT_EQ(plain_encoding("v64@0:8{MTLSize=QQQ}16{MTLSize=QQQ}40"), "v@:{?=QQQ}{?=QQQ}");
  EXPECT_EQ(plain_encoding("r*16@0:8"), "*@:");
  EXPECT_EQ(plain_encoding("v16@0:8^{Opaque}16"), "v@:^{?}");
  EXPECT_EQ(plain_encoding("@\"unended"), "@");
  EXPECT_EQ(plain_encoding("v{unended"), "v{");
}

TEST(MetalMessages, ShapesTellApartWhatACallDependsOn) {
  EXPECT_EQ(call_shape("@@:QQ"), "ppp88");
  EXPECT_EQ(call_shape("v@:^vQQ"), call_shape("v@:@qq"));
  EXPECT_EQ(call_shape("v@:^^{?=QQ}q"), "vppp8");
  EXPECT_EQ(call_shape("v@:@?Q"), "vppp8");
  EXPECT_EQ(call_shape("v@:B"), call_shape("v@:c"));
  EXPECT_NE(call_shape("v@:Q"), call_shape("v@:I"));
  EXPECT_NE(call_shape("v@:Q"), call_shape("v@:d"));
  EXPECT_NE(call_shape("v@:{?=QQQ}"), call_shape("v@:QQQ"));
}

TEST(MetalMessages, NamesSayWhoOwnsWhatIsReturned) {
  static_assert(returns_owned("new"));
  static_assert(returns_owned("newBufferWithLength:options:"));
  static_assert(returns_owned("_newThing"));
  static_assert(returns_owned("initWithDevice:"));
  static_assert(returns_owned("mutableCopy"));
  static_assert(!returns_owned("newest"));
  static_assert(!returns_owned("commandBuffer"));
  static_assert(!returns_owned("initialize"));
  static_assert(!returns_owned("copying"));
  EXPECT_TRUE(row("new_pipeline").is_owned);
  EXPECT_FALSE(row("compute_encoder").is_owned);
}

TEST(MetalMessages, EveryRowIsWhole) {
  std::set<std::string> seen;
  for (const MessageInfo& info : message_table()) {
    EXPECT_TRUE(seen.insert(std::string(info.owner) + " " + info.selector).second ||
                info.receiver == MessageInfo::Receiver::type)
        << info.token;
    EXPECT_GE(info.since.major, 10) << info.token;
    EXPECT_NE(info.source.find('/'), std::string_view::npos) << info.token;
    // A colon for each argument.
    std::size_t arguments = 0;
    std::size_t depth = 0;
    bool pointer = false;
    for (const char c : info.encoding().substr(info.encoding().find("@:") + 2)) {
      if (c == '{') ++depth;
      if (c == '}') --depth;
      if (depth == 0 && !pointer && c != '?') ++arguments;  // "@?" is a block
      pointer = c == '^';
    }
    const std::string_view selector = info.selector;
    EXPECT_EQ(arguments,
              static_cast<std::size_t>(std::count(selector.begin(), selector.end(), ':')))
        << info.token;
  }
}

}  // namespace
}  // namespace hearth::metal
