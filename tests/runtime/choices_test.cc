#include "runtime/tune/cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hearth::runtime {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kNames = {"slow", "fast/8", "never"};

KeptSelection choice(const std::string& problem, const std::string& chosen = "fast/8") {
  return {"matmul", problem, chosen, {{"slow", 2e-3}, {"fast/8", 1.25e-6}, {"never", {}}}};
}

class TuningFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = (fs::temp_directory_path() /
               ("hearth_choices_" + std::to_string(getpid()) + "_" +
                testing::UnitTest::GetInstance()->current_test_info()->name()))
                  .string();
    fs::remove_all(folder_);
  }
  void TearDown() override {
    std::error_code ignored;
    fs::permissions(folder_, fs::perms::owner_all, ignored);
    fs::remove_all(folder_, ignored);
  }
  TuningFile open(const std::string& device = "Some GPU, 8 cores",
                  const std::string& compiler = "1") const {
    return {folder_, device, compiler};
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    std::ifstream file(open().path());
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }
  void write(const std::vector<std::string>& all) const {
    std::ofstream file(open().path());
    for (const std::string& line : all) file << line << "\n";
  }

  std::string folder_;
};

TEST_F(TuningFileTest, KeepsALineForEachChoice) {
  TuningFile file = open();
  EXPECT_FALSE(file.find("matmul", "a", kNames));
  EXPECT_EQ(file.keep(choice("a")).chosen, "fast/8");
  EXPECT_EQ(lines(), (std::vector<std::string>{
                         R"({"hearth_choices":1,"device":"Some GPU, 8 cores","compiler":"1"})",
                         R"({"op":"matmul","class":"a","chosen":"fast/8",)"
                         R"("microseconds":{"slow":2000.0,"fast/8":1.25,"never":null}})"}));
  TuningFile again = open();
  const auto found = again.find("matmul", "a", {"never", "slow", "fast/8"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->chosen, "fast/8");
  ASSERT_EQ(found->times.size(), 3u);
  EXPECT_DOUBLE_EQ(*found->times[1].seconds, 1.25e-6);
  EXPECT_FALSE(found->times[2].seconds);
  EXPECT_FALSE(again.find("attention", "a", kNames));
  EXPECT_FALSE(again.find("matmul", "b", kNames));
}

// Each line would be compared with all before it.
TEST_F(TuningFileTest, ReadsTheLastLinesOfALongFile) {
  open().keep(choice("a"));
  const std::vector<std::string> written = lines();
  std::ofstream file(open().path());
  file << written[0] << "\n" << written[1] << "\n";
  for (int i = 0; i < 200000; ++i) {
    file << R"({"op":"o","class":")" << i << R"(","chosen":"n","microseconds":{"n":1}})" << "\n";
  }
  file.close();
  const std::vector<KeptSelection> read = open().read();
  ASSERT_GE(read.size(), TuningFile::kMax);
  EXPECT_LE(read.size(), 4 * TuningFile::kMax);
  EXPECT_EQ(read.back().problem, "199999");
  EXPECT_FALSE(open().find("matmul", "a", kNames));
}

// Opening a pipe that nobody reads waits for ever.
TEST_F(TuningFileTest, PipesAndFoldersInItsPlaceCountAsAbsent) {
  fs::create_directories(folder_);
  ASSERT_EQ(mkfifo((open().path() + ".lock").c_str(), 0600), 0);
  EXPECT_EQ(open().keep(choice("a")).chosen, "fast/8");
  EXPECT_TRUE(open().find("matmul", "a", kNames));
  fs::remove(open().path());
  ASSERT_EQ(mkfifo(open().path().c_str(), 0600), 0);
  EXPECT_TRUE(open().read().empty());
  fs::remove(open().path());
  fs::create_directories(open().path());
  EXPECT_TRUE(open().read().empty());
  EXPECT_EQ(open().keep(choice("b", "slow")).chosen, "slow");
}

TEST_F(TuningFileTest, OtherDevicesAndCompilersHaveTheirOwn) {
  open().keep(choice("a"));
  EXPECT_FALSE(open("Some GPU, 9 cores").find("matmul", "a", kNames));
  EXPECT_FALSE(open("Some GPU, 8 cores", "2").find("matmul", "a", kNames));
  EXPECT_TRUE(open().find("matmul", "a", kNames));
}

TEST_F(TuningFileTest, OtherAlternativesAreMeasuredAnew) {
  open().keep(choice("a"));
  EXPECT_FALSE(open().find("matmul", "a", {"slow", "fast/8"}));
  EXPECT_FALSE(open().find("matmul", "a", {"slow", "fast/8", "other"}));
  TuningFile file = open();
  file.keep({"matmul", "a", "other", {{"slow", 1}, {"other", 2}}});
  EXPECT_EQ(lines().size(), 2u);
  EXPECT_EQ(open().find("matmul", "a", {"slow", "other"})->chosen, "other");
}

TEST_F(TuningFileTest, WhoeverWasFirstStands) {
  TuningFile one = open(), two = open();
  EXPECT_FALSE(two.find("matmul", "a", kNames));
  one.keep(choice("a", "slow"));
  EXPECT_EQ(two.keep(choice("a", "fast/8")).chosen, "slow");
  EXPECT_EQ(two.find("matmul", "a", kNames)->chosen, "slow");
}

TEST_F(TuningFileTest, DamagedLinesAreIgnoredAndGone) {
  TuningFile file = open();
  for (const char* name : {"a", "b", "c"}) file.keep(choice(name));
  const std::vector<std::string> whole = lines();
  for (const std::string& bad :
       {std::string("{"), whole[2].substr(0, whole[2].size() / 2), std::string(),
        std::string(R"({"op":"matmul","class":"b","chosen":"x","microseconds":{"slow":1}})"),
        std::string(R"({"op":"matmul","class":"b","chosen":"slow","microseconds":{"slow":-1}})"),
        std::string(R"({"op":"matmul","class":"b","chosen":"slow","microseconds":{"slow":"1"}})"),
        std::string(R"({"op":"matmul","class":"b","chosen":"slow","microseconds":{"slow":null}})"),
        std::string(R"({"op":"matmul","class":7,"chosen":"slow","microseconds":{"slow":1}})"),
        std::string(20000, 'x'), std::string(20000, '[')}) {
    std::vector<std::string> damaged = whole;
    damaged[2] = bad;
    write(damaged);
    TuningFile other = open();
    EXPECT_TRUE(other.find("matmul", "a", kNames)) << bad;
    EXPECT_FALSE(other.find("matmul", "b", kNames)) << bad;
    EXPECT_TRUE(other.find("matmul", "c", kNames)) << bad;
    other.keep(choice("b"));
    EXPECT_EQ(lines(), (std::vector<std::string>{whole[0], whole[1], whole[3], whole[2]})) << bad;
  }
}

TEST_F(TuningFileTest, CutAnywhereItStillServes) {
  TuningFile file = open();
  file.keep(choice("a"));
  file.keep(choice("b"));
  const std::string path = file.path();
  const auto whole = fs::file_size(path);
  for (std::uintmax_t cut = 0; cut < whole; cut += 3) {
    fs::resize_file(path, cut);
    TuningFile other = open();
    other.keep(choice("a"));
    other.keep(choice("b"));
    EXPECT_EQ(fs::file_size(path), whole) << "cut at " << cut;
  }
}

TEST_F(TuningFileTest, AnotherHeadingIsAnotherFile) {
  TuningFile file = open();
  file.keep(choice("a"));
  std::vector<std::string> all = lines();
  all[0] = R"({"hearth_choices":2})";
  write(all);
  EXPECT_FALSE(open().find("matmul", "a", kNames));
  EXPECT_TRUE(open().read().empty());
}

TEST_F(TuningFileTest, TheOldestGoFirst) {
  TuningFile file = open();
  file.keep(choice("first"));
  std::vector<std::string> all = lines();
  for (std::size_t i = 0; i < TuningFile::kMax; ++i) {
    std::string line = all[1];
    line.replace(line.find("first"), 5, std::to_string(i));
    all.push_back(line);
  }
  write(all);
  open().keep(choice("last"));
  const std::vector<KeptSelection> kept = open().read();
  ASSERT_EQ(kept.size(), TuningFile::kMax);
  EXPECT_EQ(kept.front().problem, "1");
  EXPECT_EQ(kept.back().problem, "last");
}

TEST_F(TuningFileTest, ProcessesKeepSideBySide) {
  constexpr int kProcesses = 4, kEach = 25;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      TuningFile file = open();
      for (int i = 0; i < kEach; ++i) {
        file.keep(choice(std::to_string(p) + "_" + std::to_string(i)));
        file.keep(choice("all_" + std::to_string(i), p % 2 == 0 ? "slow" : "fast/8"));
      }
      // What stands is what everybody was told.
      for (int i = 0; i < kEach; ++i) {
        const std::string problem = "all_" + std::to_string(i);
        if (file.find("matmul", problem, kNames)->chosen !=
            open().find("matmul", problem, kNames)->chosen) {
          _exit(1);
        }
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(open().read().size(), static_cast<std::size_t>((kProcesses + 1) * kEach));
}

TEST_F(TuningFileTest, WithoutAFolderItRemembersAllTheSame) {
  TuningFile none("", "device", "1");
  EXPECT_EQ(none.path(), "");
  none.keep(choice("a"));
  EXPECT_TRUE(none.find("matmul", "a", kNames));
  EXPECT_TRUE(none.read().empty());
  std::ofstream(folder_) << "a file where the folder should be";
  TuningFile blocked = open();
  EXPECT_EQ(blocked.keep(choice("a")).chosen, "fast/8");
  EXPECT_TRUE(blocked.find("matmul", "a", kNames));
}

}  // namespace
}  // namespace hearth::runtime
