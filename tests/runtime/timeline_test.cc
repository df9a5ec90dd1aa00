#include "runtime/trace/timeline.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "hearth/error.h"

namespace hearth {
namespace {

using runtime::HostSpan;
using runtime::Profile;
using runtime::Timeline;

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Timeline, RecordsNothingUnlessAsked) {
  const std::size_t before = Timeline::global().size();
  {
    const HostSpan span("unseen");
  }
  EXPECT_EQ(Timeline::global().size(), before);
}

TEST(Timeline, KernelsAreSummedUpFromTheBeginningOfAProfile) {
  const Profile outer;
  Timeline::global().add_kernel("card", "first", 0, 1);
  const Profile inner;
  Timeline::global().add_kernel("card", "first", 1, 2);
  Timeline::global().add_kernel("card", "second", 3, 3);
  Timeline::global().add_kernel("card", "first", 6, 2);
  Timeline::global().add_host("call", 0, 100);
  ASSERT_EQ(inner.kernels().size(), 2u);
  EXPECT_EQ(inner.kernels()[0].name, "first");
  EXPECT_EQ(inner.kernels()[0].launches, 2);
  EXPECT_EQ(inner.kernels()[0].seconds, 4);
  EXPECT_EQ(inner.kernels()[1].name, "second");
  EXPECT_EQ(outer.kernels()[0].launches, 3);
}

TEST(Timeline, IsWrittenAsATrace) {
  const std::string path = testing::TempDir() + "hearth_timeline.json";
  const Profile profile;
  {
    const HostSpan span("a \"call\"");
  }
  Timeline::global().add_kernel("card", "kernel", 1, 0.5);
  profile.write_timeline(path);
  const std::string text = text_of(path);
  EXPECT_NE(text.find("\"name\":\"a \\\"call\\\"\",\"pid\":0"), std::string::npos) << text;
  EXPECT_NE(text.find("\"name\":\"kernel\",\"pid\":"), std::string::npos) << text;
  EXPECT_NE(text.find("\"ts\":1000000.000,\"dur\":500000.000}"), std::string::npos) << text;
  EXPECT_NE(text.find("card, kernels run one by one"), std::string::npos) << text;
  std::remove(path.c_str());
  EXPECT_THROW(profile.write_timeline("/nowhere/at/all"), Error);
}

}  // namespace
}  // namespace hearth
