// A folder of its own for each test, and the `hearth` program run in it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#ifndef _WIN32
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "hearth/io.h"
#include "tools/training/checkpoint.h"

namespace hearth::tools {

inline void expect_same_weights(const std::string& a, const std::string& b) {
  const SafetensorsContents one = load_safetensors(checkpoint_path(a));
  const SafetensorsContents two = load_safetensors(checkpoint_path(b));
  ASSERT_EQ(one.arrays.size(), two.arrays.size());
  for (std::size_t i = 0; i < one.arrays.size(); ++i) {
    EXPECT_EQ(one.arrays[i].name, two.arrays[i].name);
    EXPECT_EQ(one.arrays[i].array.to_doubles(), two.arrays[i].array.to_doubles())
        << one.arrays[i].name;
  }
}

struct Outcome {
  int status = -1;  // -1: killed
  std::string out;
  std::string err;
};

class ToolFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("hearth_" + std::string(info->test_suite_name()) + "_" + info->name() + "_" +
               std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static std::string contents(const std::string& file) {
    std::ifstream stream(file);
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
  }

#if defined(HEARTH_TOOL) && !defined(_WIN32)
  // `in`: the file that it reads as standard input; empty: that of the test.
  pid_t start(const std::vector<std::string>& arguments, const std::string& out,
              const std::string& in = "") const {
    const pid_t child = fork();
    if (child != 0) return child;
    std::vector<char*> argv = {const_cast<char*>(HEARTH_TOOL)};
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    if (!in.empty()) dup2(open(in.c_str(), O_RDONLY), 0);
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(open(path("stderr").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    execv(HEARTH_TOOL, argv.data());
    _exit(127);
  }

  Outcome finish(pid_t child) const {
    int status = 0;
    waitpid(child, &status, 0);
    Outcome outcome;
    if (WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
    outcome.out = contents(path("stdout"));
    outcome.err = contents(path("stderr"));
    return outcome;
  }

  Outcome run(const std::vector<std::string>& arguments) const {
    return finish(start(arguments, path("stdout")));
  }

  Outcome run(const std::vector<std::string>& arguments, const std::string& input) const {
    std::ofstream(path("stdin")) << input;
    return finish(start(arguments, path("stdout"), path("stdin")));
  }

  static void expect_refused(const Outcome& outcome) {
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_EQ(outcome.err.rfind("hearth: ", 0), 0u) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
#endif

  std::filesystem::path folder_;
};

}  // namespace hearth::tools
