#include "tools/bindings/declarations.h"

#include <gtest/gtest.h>

namespace hearth::tools {
namespace {

TEST(Declarations, CommentsBelongToWhatTheyStandBeside) {
  const Declarations found = parse_declarations(R"(
// ---- Sums
// Numeric dtypes.

// Above
// two lines.
HEARTH_API Array sum(const Array& x);  // behind
HEARTH_API Array sum(const Array& x, const Dims& axes, bool keepdim = false,
                     std::vector<std::pair<int, int>> pairs = {});
HEARTH_API Array prod(const Array& x);
)");
  ASSERT_EQ(found.functions.size(), 3U);
  EXPECT_EQ(found.functions[0].doc, "Above two lines. behind");
  EXPECT_EQ(found.functions[1].doc, "Above two lines. behind");
  EXPECT_EQ(found.functions[1].section, "Numeric dtypes.");
  ASSERT_EQ(found.functions[1].parameters.size(), 4U);
  EXPECT_EQ(found.functions[1].parameters[2].default_value, "false");
  EXPECT_EQ(found.functions[1].parameters[3].type, "std::vector<std::pair<int, int>>");
  EXPECT_EQ(found.functions[1].text,
            "Array sum(const Array& x, const Dims& axes, bool keepdim = false, "
            "std::vector<std::pair<int, int>> pairs = {})");
  EXPECT_EQ(found.functions[2].doc, "");
}

}  // namespace
}  // namespace hearth::tools
