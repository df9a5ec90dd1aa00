#include "runtime/tune/rules.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "error_text.h"

namespace hearth::runtime {
namespace {

std::string error_of(const std::string& text) {
  return check::error_of(ErrorCode::invalid_argument, [&] { read_choice_rules(text); });
}

TEST(SelectionRules, InOneLine) {
  EXPECT_TRUE(read_choice_rules("").empty());
  const std::vector<SelectionRule> rules =
      read_choice_rules("matmul=simdgroup/64x64,attention=tiles");
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].op, "matmul");
  EXPECT_EQ(rules[0].pattern, "*");
  EXPECT_EQ(rules[0].name, "simdgroup/64x64");
  EXPECT_EQ(rules[1].op, "attention");
  for (const char* bad : {"=a", "matmul=", "matmul=a,,attention=b", "matmul=a,attention"}) {
    EXPECT_NE(error_of(bad).find("HEARTH_CHOICES: no rule"), std::string::npos) << bad;
  }
}

TEST(SelectionRules, BlanksAroundARuleCountForNothing) {
  const std::vector<SelectionRule> rules = read_choice_rules("matmul=a,  attention = b ");
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[1].op, "attention");
  EXPECT_EQ(rules[1].name, "b");
}

TEST(SelectionRules, InAFile) {
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("hearth_rules_" + std::to_string(getpid()) + ".json"))
                               .string();
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  write(R"([{"op": "matmul", "class": "f32 * k4096", "choose": "mps"},
            {"op": "matmul", "choose": "tiles"}])");
  const std::vector<SelectionRule> rules = read_choice_rules(path);
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].pattern, "f32 * k4096");
  EXPECT_EQ(rules[0].name, "mps");
  EXPECT_EQ(rules[1].pattern, "*");
  write("[{");
  EXPECT_EQ(error_of(path), "environment: HEARTH_CHOICES: no JSON; got '" + path +
                                "', expected a list of "
                                R"({"op": "...", "class": "...", "choose": "..."})");
  for (const char* bad : {R"([1])", R"([{"op": "matmul"}])", R"([{"choose": "a"}])",
                          R"([{"op": "matmul", "choose": 1}])",
                          R"([{"op": "matmul", "choose": "a", "when": "b"}])"}) {
    write(bad);
    EXPECT_NE(error_of(path).find("HEARTH_CHOICES: no rule; got "), std::string::npos) << bad;
  }
  write("{}");
  EXPECT_NE(error_of(path).find("no JSON"), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_EQ(error_of(path), "environment: HEARTH_CHOICES: the file cannot be read; got '" + path +
                                "', expected the path of a regular file, or op=name");
}

TEST(SelectionRules, InAFileThatIsNone) {
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("hearth_no_rules_" + std::to_string(getpid()) + ".json"))
                               .string();
  const auto refused = [&](const std::string& file, const std::string& why) {
    EXPECT_NE(error_of(file).find("HEARTH_CHOICES: " + why), std::string::npos) << error_of(file);
  };
  // Reading a pipe that nobody writes waits for ever.
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  refused(path, "the file cannot be read");
  std::filesystem::remove(path);
  refused("/dev/zero", "the file cannot be read");
  refused(std::filesystem::temp_directory_path().string(), "the file cannot be read");
  const auto write = [&](const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
    return path;
  };
  refused(write(""), "no JSON");
  refused(write(std::string(100000, '[')), "no JSON");
  refused(write(std::string("[{\"op\": \0", 10)), "no JSON");
  refused(write("[\"" + std::string(2 << 20, 'a') + "\"]"), "the file is too large");
  refused(write("[\"" + std::string(100000, 'a') + "\"]"), "no rule; got \"aaa");
  EXPECT_LT(error_of(path).size(), 500u);
  std::filesystem::remove(path);
}

TEST(SelectionRules, PatternsAndFamilies) {
  EXPECT_TRUE(fits_pattern("f32 nt m64", "*"));
  EXPECT_TRUE(fits_pattern("f32 nt m64", "f32*m64"));
  EXPECT_TRUE(fits_pattern("f32 nt m64 m64", "*m64"));
  EXPECT_TRUE(fits_pattern("aab", "*ab"));
  EXPECT_TRUE(fits_pattern("", "**"));
  EXPECT_FALSE(fits_pattern("f32 nt m64", "f16*"));
  EXPECT_FALSE(fits_pattern("f32 nt m64", "f32"));
  EXPECT_FALSE(fits_pattern("f32", "f32*4"));
  EXPECT_TRUE(is_wanted("simdgroup/64x64", "simdgroup"));
  EXPECT_TRUE(is_wanted("simdgroup/64x64", "simdgroup/64x64"));
  EXPECT_FALSE(is_wanted("simdgroup/64x64", "simd"));
  EXPECT_FALSE(is_wanted("simdgroup", "simdgroup/64x64"));
}

}  // namespace
}  // namespace hearth::runtime
