#include "runtime/compile/kernel_registry.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/fake_driver.h"

namespace hearth::runtime {
namespace {

namespace fs = std::filesystem;

class KernelRegistryTest : public testing::Test {
 protected:
  void SetUp() override {
    folder = (fs::temp_directory_path() /
              ("hearth_kernels_" + std::to_string(getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name()))
                 .string();
    fs::remove_all(folder);
  }
  void TearDown() override {
    std::error_code ignored;
    fs::permissions(folder, fs::perms::owner_all, ignored);
    fs::remove_all(folder, ignored);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> list;
    for (const auto& entry : fs::directory_iterator(folder)) list.push_back(entry.path());
    return list;
  }

  std::string folder;
  FakeDriver driver;
};

TEST_F(KernelRegistryTest, CompilesOnceAndServesTheDiskAfterwards) {
  KernelRegistry first(driver, KernelCache(folder));
  const Function& function = first.get(fake_source("a"));
  EXPECT_EQ(&function, &first.get(fake_source("a")));
  EXPECT_EQ(driver.compiled, 1);
  KernelRegistry second(driver, KernelCache(folder));
  EXPECT_EQ(second.get(fake_source("a")).name(), "a");
  EXPECT_EQ(driver.compiled, 1);
  EXPECT_EQ(second.statistics().from_disk, 1);
  second.get(fake_source("a", "other text"));
  EXPECT_EQ(driver.compiled, 2);
  driver.version = "2";
  KernelRegistry third(driver, KernelCache(folder));
  third.get(fake_source("a"));
  EXPECT_EQ(driver.compiled, 3);
}

TEST_F(KernelRegistryTest, DamagedEntriesAreRebuilt) {
  KernelRegistry(driver, KernelCache(folder)).get(fake_source("a"));
  ASSERT_EQ(files().size(), 1u);
  const fs::path path = files()[0];
  const auto whole = fs::file_size(path);
  int expected = 1;
  for (std::uintmax_t cut = 0; cut < whole; ++cut) {
    fs::resize_file(path, cut);
    KernelRegistry(driver, KernelCache(folder)).get(fake_source("a"));
    EXPECT_EQ(driver.compiled, ++expected) << "cut at " << cut;
    EXPECT_EQ(fs::file_size(path), whole);
  }
  for (std::uintmax_t at = 0; at < whole; ++at) {
    {
      std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
      file.seekg(static_cast<std::streamoff>(at));
      const int byte = file.get();
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(byte ^ 0x10));
    }
    KernelRegistry(driver, KernelCache(folder)).get(fake_source("a"));
    EXPECT_EQ(driver.compiled, ++expected) << "flipped at " << at;
  }
}

TEST_F(KernelRegistryTest, WithoutAFolderItCarriesOn) {
  KernelRegistry none(driver, KernelCache(""));
  none.get(fake_source("a"));
  std::ofstream(folder) << "a file where the folder should be";
  KernelRegistry blocked(driver, KernelCache(folder));
  blocked.get(fake_source("a"));
  blocked.get(fake_source("a"));
  EXPECT_EQ(driver.compiled, 2);
}

TEST_F(KernelRegistryTest, ErrorsAreThrownAgain) {
  KernelRegistry registry(driver, KernelCache(folder));
  for (int i = 0; i < 2; ++i) {
    try {
      registry.get(fake_source("bad", "broken"));
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), "bad: syntax error");
    }
  }
  EXPECT_EQ(driver.compiled, 1);
}

TEST_F(KernelRegistryTest, ThreadsShareOneCompilation) {
  KernelRegistry registry(driver, KernelCache(folder));
  std::vector<std::thread> threads;
  std::vector<const Function*> got(8);
  for (std::size_t i = 0; i < got.size(); ++i) {
    threads.emplace_back([&, i] { got[i] = &registry.get(fake_source("a")); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(driver.compiled, 1);
  for (const Function* function : got) EXPECT_EQ(function, got[0]);
}

// Sources "k0", "k1" ... with texts of their own.
std::vector<KernelSource> numbered_sources(int count) {
  std::vector<KernelSource> sources;
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    sources.push_back(fake_source("k" + number, "text " + number));
  }
  return sources;
}
std::vector<const KernelSource*> pointers(const std::vector<KernelSource>& sources) {
  std::vector<const KernelSource*> all;
  for (const KernelSource& source : sources) all.push_back(&source);
  return all;
}

TEST_F(KernelRegistryTest, KernelsOfAProgramAreOneFileUnderSeveralNames) {
  driver.shares_programs = true;
  const std::vector<KernelSource> sources = numbered_sources(5);
  KernelRegistry first(driver, KernelCache(folder));
  first.prepare(pointers(sources));
  EXPECT_EQ(driver.programs_compiled, 2);
  EXPECT_EQ(driver.compiled, 1);
  EXPECT_EQ(first.statistics().compiled, 5);
  EXPECT_EQ(files().size(), 5u);
  int shared = 0;
  for (const fs::path& file : files()) shared += fs::hard_link_count(file) == 2 ? 1 : 0;
  EXPECT_EQ(shared, 4);

  KernelRegistry second(driver, KernelCache(folder));
  EXPECT_EQ(second.get(sources[3]).name(), "k3");
  second.prepare(pointers(sources));
  for (const KernelSource& source : sources) EXPECT_EQ(second.get(source).name(), source.name);
  EXPECT_EQ(second.statistics().from_disk, 5);
  EXPECT_EQ(second.statistics().compiled, 0);
}

TEST_F(KernelRegistryTest, AFaultyKernelFailsNoOtherOfItsProgram) {
  driver.shares_programs = true;
  std::vector<KernelSource> sources = numbered_sources(4);
  sources[1].text = "broken";
  KernelRegistry registry(driver, KernelCache(folder));
  registry.prepare(pointers(sources));
  for (const int i : {0, 2, 3}) {
    const KernelSource& source = sources[static_cast<std::size_t>(i)];
    EXPECT_EQ(registry.get(source).name(), source.name);
  }
  try {
    registry.get(sources[1]);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "k1: syntax error");
  }
  EXPECT_EQ(registry.statistics().compiled, 3);
}

TEST_F(KernelRegistryTest, OneOfAProgramIsRebuiltWhereItsFileIsDamaged) {
  driver.shares_programs = true;
  const std::vector<KernelSource> sources = numbered_sources(2);
  KernelRegistry(driver, KernelCache(folder)).prepare(pointers(sources));
  fs::remove(files()[0]);
  std::ofstream(files()[0]) << "damaged";  // the other name
  KernelRegistry registry(driver, KernelCache(folder));
  registry.prepare(pointers(sources));
  EXPECT_EQ(registry.statistics().compiled, 2);
  EXPECT_EQ(driver.programs_compiled, 2);
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(KernelRegistryTest, PreparingTwiceCompilesOnce) {
  driver.shares_programs = true;
  const std::vector<KernelSource> sources = numbered_sources(3);
  std::vector<const KernelSource*> twice = pointers(sources);
  twice.insert(twice.end(), {&sources[0], &sources[1], &sources[2]});
  KernelRegistry registry(driver, KernelCache(""));
  registry.prepare(twice);
  registry.prepare(twice);
  EXPECT_EQ(registry.statistics().compiled, 3);
}

}  // namespace
}  // namespace hearth::runtime
