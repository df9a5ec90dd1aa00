#include "runtime/device/environment.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace hearth::runtime {
namespace {

Environment from(const std::map<std::string, std::string>& variables) {
  return read_environment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Environment, NothingSet) {
  const Environment none = from({});
  EXPECT_EQ(none.problem, "");
  EXPECT_EQ(none.threads, std::nullopt);
  EXPECT_TRUE(none.fusion);
  EXPECT_FALSE(none.exact);
  EXPECT_EQ(none.cache, std::nullopt);
  EXPECT_TRUE(none.tune);
}

TEST(Environment, ValuesAreTaken) {
  const Environment all = from({{"HEARTH_THREADS", "3"},
                                {"HEARTH_FUSION", "0"},
                                {"HEARTH_EXACT", "1"},
                                {"HEARTH_CACHE", ""},
                                {"HEARTH_DEVICE", "cuda:1"},
                                {"HEARTH_HOST_COMPILER", "clang++"},
                                {"HEARTH_METAL_PATH", "/a/library"},
                                {"HEARTH_METAL_CAPTURE", "plan.gputrace"},
                                {"HEARTH_METAL_MPSGRAPH", "0"},
                                {"HEARTH_METAL_ANY", "1"},
                                {"HEARTH_CHECK_ORDER", ""},
                                {"HEARTH_CHOICES", "matmul=tiles"},
                                {"HEARTH_TUNE", "0"}});
  EXPECT_EQ(all.problem, "");
  EXPECT_EQ(all.threads, 3);
  EXPECT_FALSE(all.fusion);
  EXPECT_TRUE(all.exact);
  EXPECT_EQ(all.cache, "");
  EXPECT_EQ(all.device, "cuda:1");
  EXPECT_EQ(all.host_compiler, "clang++");
  EXPECT_EQ(all.metal_path, "/a/library");
  EXPECT_EQ(all.metal_capture, "plan.gputrace");
  EXPECT_EQ(all.metal_mpsgraph, false);
  EXPECT_TRUE(all.metal_any);
  EXPECT_FALSE(all.check_order);
  EXPECT_EQ(all.choices, "matmul=tiles");
  EXPECT_FALSE(all.tune);
}

TEST(Environment, MisspeltVariablesAreProblems) {
  const auto problem = [](const std::string& variable) {
    const std::vector<std::string> variables = {"PATH", "HEARTH_THREADS", variable};
    return read_environment([](const char*) { return nullptr; }, variables).problem;
  };
  EXPECT_EQ(problem("HEARTH_FUSIN"),
            "environment: unknown variable; got HEARTH_FUSIN, expected perhaps HEARTH_FUSION");
  EXPECT_NE(problem("HEARTH_DETERMINSTIC"), "");
  EXPECT_NE(problem("HEARTH_DEVCIE"), "");
  EXPECT_NE(problem("HEARTH_HOST_COMPILR"), "");
  // A program's own.
  for (const char* other : {"HEARTH_FUSION", "HEARTH_TEST_DEVICES", "HEARTH_SOURCE_DIR", "FUSIN",
                            "HEARTH_METAL_TEXTS", "HEARTH_TOOL", "HEARTH_"}) {
    EXPECT_EQ(problem(other), "") << other;
  }
}

TEST(Environment, UnknownVariablesAreNamed) {
  const auto warnings = [](std::vector<std::string> variables) {
    const Environment read =
        read_environment([](const char*) { return nullptr; }, variables, documented_variables());
    EXPECT_EQ(read.problem, "");
    return read.warnings;
  };
  // Once each, with those that share most words, or that tests and builds have.
  EXPECT_EQ(warnings({"HEARTH_NUM_THREADS", "HEARTH_LOGLEVEL", "HEARTH_NUM_THREADS"}),
            (std::vector<std::string>{
                "environment: unknown variable, which changes nothing; got HEARTH_NUM_THREADS, "
                "expected perhaps HEARTH_THREADS",
                "environment: unknown variable, which changes nothing; got HEARTH_LOGLEVEL, "
                "expected one of docs/environment.md"}));
  const auto expected = [&](const std::string& name) {
    const std::vector<std::string> all = warnings({name});
    return all.size() != 1 ? "" : all[0].substr(all[0].find("expected ") + 9);
  };
  EXPECT_EQ(expected("HEARTH_THREAD_COUNT"), "perhaps HEARTH_THREADS");
  EXPECT_EQ(expected("HEARTH_PATH_OF_CUDA"), "perhaps HEARTH_CUDA_PATH");
  EXPECT_EQ(expected("HEARTH_MY_METAL_LIBRARY_PATH"), "perhaps HEARTH_METAL_PATH");
  EXPECT_EQ(expected("HEARTH_TEST_DEVICE"), "perhaps HEARTH_TEST_DEVICES");
  // The library's own, those of tests, scripts and CMake, and those of others.
  EXPECT_TRUE(warnings({"HEARTH_FUSION", "HEARTH_CACHE", "HEARTH_TEST_DEVICES", "HEARTH_SOURCE_DIR",
                        "HEARTH_STAGES", "HEARTH_CLANG", "HEARTH_BUILD_TESTS", "HEARTH_SANITIZE",
                        "HEARTH_FETCH", "HEARTH_ZIG", "HEARTHSTONE", "PATH"})
                  .empty());
}

// Unset, MPSGraph is neither allowed nor ruled out.
TEST(Environment, MpsGraphMayBeLeftOpen) {
  EXPECT_EQ(from({}).metal_mpsgraph, std::nullopt);
  EXPECT_EQ(from({{"HEARTH_METAL_MPSGRAPH", ""}}).metal_mpsgraph, std::nullopt);
  EXPECT_EQ(from({{"HEARTH_METAL_MPSGRAPH", "1"}}).metal_mpsgraph, true);
  const Environment bad = from({{"HEARTH_METAL_MPSGRAPH", "yes"}});
  EXPECT_EQ(bad.metal_mpsgraph, std::nullopt);
  EXPECT_NE(bad.problem, "");
}

TEST(Environment, ValuesWithoutMeaningAreProblems) {
  EXPECT_EQ(from({{"HEARTH_THREADS", "abc"}}).problem,
            "environment: HEARTH_THREADS has no meaning; got 'abc', expected 1 to 1024");
  EXPECT_EQ(from({{"HEARTH_FUSION", "off"}}).problem,
            "environment: HEARTH_FUSION has no meaning; got 'off', expected 0 or 1");
  for (const char* bad : {"0", "-1", "2x", "99999999999999999999", " 2"}) {
    const Environment read = from({{"HEARTH_THREADS", bad}});
    EXPECT_NE(read.problem, "") << bad;
    EXPECT_EQ(read.threads, std::nullopt);
  }
}

}  // namespace
}  // namespace hearth::runtime
