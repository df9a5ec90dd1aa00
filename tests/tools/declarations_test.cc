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

// Enumerators on lines of their own were lost, and so were fields of a base.
TEST(Declarations, TypesHaveAllTheirFields) {
  const Declarations found = parse_declarations(R"(
enum class Order : std::uint8_t {
  rows,
  columns,
};
enum class Side : std::uint8_t { left, right };
struct Size {
  std::int64_t rows = 1;  // high
};
struct Place : Size {
  std::int64_t at = 0;
};
)");
  ASSERT_EQ(found.types.size(), 4U);
  const auto names = [&](std::size_t type) {
    std::vector<std::string> list;
    for (const Parameter& field : found.types[type].fields) list.push_back(field.name);
    return list;
  };
  EXPECT_EQ(names(0), (std::vector<std::string>{"rows", "columns"}));
  EXPECT_EQ(names(1), (std::vector<std::string>{"left", "right"}));
  EXPECT_EQ(names(3), (std::vector<std::string>{"rows", "at"}));
  EXPECT_EQ(found.types[3].fields[0].doc, "high");
}

}  // namespace
}  // namespace hearth::tools
