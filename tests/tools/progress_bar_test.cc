#include "tools/progress_bar.h"

#include <gtest/gtest.h>

#include <string>

namespace hearth::tools {
namespace {

TEST(ProgressBar, RedrawsForEachPercentAndLeavesNothing) {
  std::string shown;
  {
    ProgressBar bar("loading x", [&](std::string_view text) { shown += text; });
    bar.show(0.5);
    EXPECT_EQ(shown,
              "\r\033[Kloading x [" + std::string(15, '#') + std::string(15, ' ') + "] 50 %");
    shown.clear();
    bar.show(0.501);
    EXPECT_EQ(shown, "");
    bar.show(2);
    EXPECT_EQ(shown, "\r\033[Kloading x [" + std::string(30, '#') + "] 100 %");
    shown.clear();
  }
  EXPECT_EQ(shown, "\r\033[K");
}

TEST(ProgressBar, WithoutATerminalItShowsNothing) {
  ProgressBar bar("loading", {});
  bar.show(0.5);
  std::string shown;
  {
    const ProgressBar unused("x", [&](std::string_view text) { shown += text; });
  }
  EXPECT_EQ(shown, "");
}

}  // namespace
}  // namespace hearth::tools
