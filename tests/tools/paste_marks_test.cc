// Marks around what was pasted into an edited line.
#include "tools/lm/paste_marks.h"

#include <gtest/gtest.h>

namespace hearth::tools {
namespace {

TEST(PasteMarks, StandAroundWhatWasPasted) {
  EXPECT_EQ(with_paste_marks("typed", {}), "typed");
  EXPECT_EQ(with_paste_marks("", {}), "");
  EXPECT_EQ(with_paste_marks("a b\nc d", {"b\nc"}), "a \033[200~b\nc\033[201~ d");
  EXPECT_EQ(with_paste_marks("\"\"\"a\nb\"\"\"", {"a\nb"}), "\"\"\"\033[200~a\nb\033[201~\"\"\"");
  EXPECT_EQ(with_paste_marks("xaybz", {"b", "a"}), "x\033[200~ayb\033[201~z");
}

TEST(PasteMarks, LineBreaksWerePasted) {
  EXPECT_EQ(with_paste_marks("a\nb\nc", {}), "\033[200~a\nb\n\033[201~c");
  // One that was edited since is as one of the history.
  EXPECT_EQ(with_paste_marks("a\nxb", {"a\nb"}), "\033[200~a\n\033[201~xb");
  EXPECT_EQ(with_paste_marks("a\nb c", {"c"}), "\033[200~a\nb c\033[201~");
}

}  // namespace
}  // namespace hearth::tools
