#include "core/without_name.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(WithoutName, LeavesOutWhatStandsAlready) {
  EXPECT_EQ(without_name("grammar: byte 1: no rule", "grammar"), "byte 1: no rule");
  EXPECT_EQ(without_name("grammar: a", "structured_outputs.grammar"), "a");
  EXPECT_EQ(without_name("grammar: a", "guided_grammar"), "grammar: a");
  EXPECT_EQ(without_name("json_schema: a", "response_format"), "json_schema: a");
  EXPECT_EQ(without_name("a: b", ""), "a: b");
  EXPECT_EQ(without_name("grammar", "grammar"), "grammar");
}

}  // namespace
}  // namespace hearth
