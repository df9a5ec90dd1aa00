// Where CUDA's libraries are looked for, and what is remembered of it.
#include "devices/cuda/driver/library.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "devices/cuda/fake_card.h"

namespace hearth::cuda {
namespace {

namespace fs = std::filesystem;

// A folder that is gone after the test.
class CudaLibrary : public testing::Test {
 protected:
  CudaLibrary() : folder_(fs::temp_directory_path() / ("hearth_cuda_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~CudaLibrary() override { fs::remove_all(folder_); }

  std::string make_file(const std::string& path) const {
    const fs::path file = folder_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "no library";
    return file;
  }

  std::size_t position(const std::vector<std::string>& folders, const std::string& folder) const {
    const auto found = std::find(folders.begin(), folders.end(), folder);
    EXPECT_NE(found, folders.end()) << folder;
    return static_cast<std::size_t>(found - folders.begin());
  }

  fs::path folder_;
};

TEST_F(CudaLibrary, FoldersComeInTheOrderOfChoice) {
  Places places;
  places.hearth_path = "/one::/two";
  places.cuda_home = "/toolkit";
  places.virtual_env = "/env";
  places.home = "/home/me";
  const auto folders = search_folders(places);
  EXPECT_EQ(position(folders, "/one"), 0u);
  EXPECT_EQ(position(folders, "/two"), 1u);
  EXPECT_EQ(position(folders, ""), 2u);
  EXPECT_LT(position(folders, "/toolkit/lib64"), position(folders, "/usr/local/cuda/lib64"));
  EXPECT_LT(position(folders, "/usr/local/cuda-*/lib64"),
            position(folders, "/env/lib/python3*/site-packages/nvidia/*/lib"));
  position(folders, "/home/me/.local/lib/python3*/site-packages/nvidia/*/lib");
}

TEST_F(CudaLibrary, WithoutTheSystemOnlyWhatIsNamed) {
  EXPECT_EQ(search_folders(only("/one")), std::vector<std::string>{"/one"});
  EXPECT_EQ(search_folders(only("")), std::vector<std::string>{});
}

TEST_F(CudaLibrary, FindsThePackagesOfThePythonOnThePath) {
  const fs::path python = make_file("env/bin/python3");
  fs::permissions(python, fs::perms::owner_all);
  fs::create_directories(folder_ / "empty");
  Places places = only("");
  places.path = (folder_ / "empty").string() + ":" + (folder_ / "env/bin").string();
  const auto folders = search_folders(places);
  position(folders, (folder_ / "env/lib/python3*/site-packages/nvidia/*/lib").string());
}

TEST_F(CudaLibrary, RemembersEachAttempt) {
  const std::string broken =
      make_file("env/lib/python3.9/site-packages/nvidia/cu13/lib/libhearth_none.so.1");
  Places places = only((folder_ / "nothing").string());
  places.virtual_env = (folder_ / "env").string();
  const std::array<std::string, 1> names{"libhearth_none.so.1"};
  std::vector<std::string> notes;
  EXPECT_FALSE(open_library(names, search_folders(places), notes));
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_EQ(notes[0], (folder_ / "nothing/libhearth_none.so.1").string() + ": no such file");
  EXPECT_TRUE(contains(notes[1], broken + ": ")) << notes[1];
  EXPECT_FALSE(contains(notes[1], "no such file")) << notes[1];
  EXPECT_TRUE(contains(notes[2], "dist-packages")) << notes[2];
}

TEST_F(CudaLibrary, TheLoaderSearchesByName) {
  const std::array<std::string, 1> names{"libhearth_none.so.1"};
  std::vector<std::string> notes;
  EXPECT_FALSE(open_library(names, {""}, notes));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].rfind("libhearth_none.so.1: ", 0), 0u) << notes[0];
}

TEST_F(CudaLibrary, OpensTheFirstThatThereIs) {
  const std::array<std::string, 2> names{"libcuda.so.9", "libcuda.so.1"};
  std::vector<std::string> notes;
  const auto library = open_library(names, {folder_.string(), kFakeFolder}, notes);
  ASSERT_TRUE(library);
  EXPECT_NE(library.symbol("cuInit"), nullptr);
  EXPECT_EQ(library.symbol("cuNothing"), nullptr);
  EXPECT_EQ(notes.size(), 4u);
  EXPECT_TRUE(contains(notes.back(), "current/libcuda.so.1: opened")) << notes.back();
}

TEST(ToolkitNames, ThoseThatTheDriverRunsAndNewerOnes) {
  using Names = std::vector<std::string>;
  const ToolkitNames both("liba", 13010), one("liba", 12090), none("liba", 11080),
      behind("b", 13000, 1);
  EXPECT_EQ(both.fitting, (Names{"liba.so.13", "liba.so.12"}));
  EXPECT_EQ(both.newer, Names{});
  EXPECT_EQ(one.fitting, Names{"liba.so.12"});
  EXPECT_EQ(one.newer, Names{"liba.so.13"});
  EXPECT_EQ(none.fitting, Names{});
  EXPECT_EQ(none.newer, (Names{"liba.so.13", "liba.so.12"}));
  EXPECT_EQ(behind.fitting, (Names{"b.so.12", "b.so.11"}));
}

}  // namespace
}  // namespace hearth::cuda
