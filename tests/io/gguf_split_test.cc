// Models that are split over several GGUF files.
#include "io/gguf_split.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "error_text.h"
#include "io/gguf.h"
#include "io/gguf_bytes.h"
#include "io/gguf_writer.h"

namespace hearth::io {
namespace {

namespace fs = std::filesystem;
using check::contains;
using check::error_of;
using testing::bytes_of;
using testing::GgufBytes;

TEST(GgufPartName, IsFoundInPaths) {
  const auto name = gguf_part_name("/a/model.Q4-00002-of-00010.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->stem, "/a/model.Q4");
  EXPECT_EQ(name->number, 2);
  EXPECT_EQ(name->count, 10);
  EXPECT_EQ(gguf_part_path(*name), "/a/model.Q4-00002-of-00010.gguf");
  EXPECT_EQ(gguf_part_path({"x", 65535, 65535}), "x-65535-of-65535.gguf");
  EXPECT_EQ(gguf_part_name("-00001-of-00001.gguf")->stem, "");
  for (const char* path : {"", ".gguf", "model.gguf", "x-0001-of-0002.gguf", "x-00001-of-00002.bin",
                           "x-00000-of-00002.gguf", "x-00003-of-00002.gguf", "x-00001of-00002.gguf",
                           "x00001-of-00002.gguf", "00001-of-00002.gguf", "x-0000a-of-00002.gguf",
                           "x-00001-of-00002.gguf.tmp", "x-00001-of--0002.gguf"}) {
    EXPECT_FALSE(gguf_part_name(path)) << path;
  }
}

class GgufSplit : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "hearth_split_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = (folder_ / "model.gguf").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string part(int number, int count = 3) const {
    return gguf_part_path({(folder_ / "model").string(), number, count});
  }

  // Three tensors of 40 bytes.
  std::vector<std::string> write(const GgufOptions& options) const {
    const std::vector<GgufTensor> tensors = {
        {"a", DType::f32, {10}}, {"b", DType::i8, {40}}, {"c", DType::f64, {5}}};
    GgufWriter writer(path_, tensors, {{"general.name", "split"}, {"split.count", 99}}, options);
    for (char data : {'a', 'b', 'c'}) writer.write(bytes_of(std::string(40, data)));
    writer.commit();
    return writer.paths();
  }

  // A part of a model: with its number (from 0), and a tensor of 32 bytes.
  void write_part(const std::string& path, int number, const std::string& tensor, int tensors,
                  int count = 3) const {
    std::ofstream(path, std::ios::binary) << GgufBytes()
                                                 .start(1, 3)
                                                 .key("split.no", GgufType::u16)
                                                 .put(static_cast<std::uint16_t>(number))
                                                 .key("split.count", GgufType::u16)
                                                 .put(static_cast<std::uint16_t>(count))
                                                 .key("split.tensors.count", GgufType::i32)
                                                 .put(static_cast<std::int32_t>(tensors))
                                                 .tensor(tensor, {32}, 24, 0)
                                                 .data(32)
                                                 .str();
  }

  std::string refused(const std::string& path, ErrorCode code = ErrorCode::corrupt_file) const {
    return error_of(code, [&] { GgufFile::open(path); });
  }

  fs::path folder_;
  std::string path_;
};

TEST_F(GgufSplit, IsWrittenAndReadWhole) {
  EXPECT_EQ(write({.max_shard_bytes = 79}), (std::vector{part(1), part(2), part(3)}));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 3);
  for (int number = 1; number <= 3; ++number) {
    const GgufFile file = GgufFile::open(part(number));
    EXPECT_EQ(file.part_count(), 3);
    EXPECT_EQ(file.metadata(), (GgufMetadata{{"general.name", "split"}}));
    ASSERT_EQ(file.tensors().size(), 3u);
    for (int i = 0; i < 3; ++i) {
      const GgufView& view = file.tensors()[static_cast<std::size_t>(i)];
      EXPECT_EQ(view.name, std::string(1, static_cast<char>('a' + i)));
      EXPECT_EQ(view.part, i);
      EXPECT_EQ(view.bytes.size(), 40u);
      EXPECT_EQ(view.bytes[39], static_cast<std::byte>('a' + i));
      EXPECT_EQ(file.find(view.name), &view);
    }
  }
  const MappedFile last = MappedFile::open(part(3));
  const GgufFile alone = GgufFile::parse(last.bytes());
  EXPECT_EQ(alone.metadata(), (GgufMetadata{{"split.no", std::uint16_t{2}},
                                            {"split.count", std::uint16_t{3}},
                                            {"split.tensors.count", std::int32_t{3}}}));
}

TEST_F(GgufSplit, PartsAreFilledInOrder) {
  EXPECT_EQ(write({.max_shard_bytes = 80}).size(), 2u);
  const GgufFile two = GgufFile::open(part(2, 2));
  EXPECT_EQ(two.tensors()[1].part, 0);
  EXPECT_EQ(write({.max_shard_bytes = 1}).size(), 3u);
  EXPECT_EQ(write({.max_shard_bytes = 120}), std::vector{path_});
  EXPECT_EQ(write({}), std::vector{path_});
  const GgufFile one = GgufFile::open(path_);
  EXPECT_EQ(one.metadata(), (GgufMetadata{{"general.name", "split"}}));
}

TEST_F(GgufSplit, EveryPartIsAligned) {
  write({.alignment = 64, .max_shard_bytes = 40});
  for (int number = 1; number <= 3; ++number) {
    const MappedFile file = MappedFile::open(part(number));
    EXPECT_EQ(GgufFile::parse(file.bytes()).alignment(), 64);
  }
}

TEST_F(GgufSplit, NothingChangesBeforeTheCommit) {
  write({.max_shard_bytes = 40});
  const auto before = fs::file_size(part(1));
  {
    GgufWriter writer(path_,
                      {{"x", DType::i8, {1000}}, {"y", DType::i8, {1}}, {"z", DType::i8, {1}}}, {},
                      {.max_shard_bytes = 1});
    writer.write(bytes_of(std::string(1000, 'x')));
    writer.write(bytes_of("y"));
    writer.write(bytes_of("z"));
    EXPECT_EQ(fs::file_size(part(1)), before);
  }
  const GgufFile old = GgufFile::open(part(2));
  EXPECT_EQ(old.tensors().size(), 3u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 3);
}

TEST_F(GgufSplit, JoinedFilesAreWhole) {
  write_part(path_, 0, "t", 1, 0);
  EXPECT_EQ(GgufFile::open(path_).part_count(), 1);
  write_part(path_, 0, "t", 1, 1);
  EXPECT_EQ(GgufFile::open(path_).part_count(), 1);
}

TEST_F(GgufSplit, SaysWhichPartIsMissing) {
  write({.max_shard_bytes = 40});
  fs::remove(part(2));
  for (const int number : {1, 3}) {
    const std::string message = refused(part(number), ErrorCode::io);
    EXPECT_TRUE(contains(message, "gguf: part 2 of 3: ")) << message;
    EXPECT_TRUE(contains(message, part(2))) << message;
  }
  fs::rename(part(1), path_);
  const std::string message = refused(path_, ErrorCode::io);
  EXPECT_TRUE(contains(message, "cannot find the other files of a model of 3")) << message;
  EXPECT_TRUE(contains(message, "expected one such as x-00001-of-00003.gguf")) << message;
}

TEST_F(GgufSplit, RefusesPartsThatDoNotBelongTogether) {
  write_part(part(1), 0, "a", 3);
  write_part(part(2), 1, "b", 3);
  write_part(part(3), 2, "c", 3);
  EXPECT_EQ(GgufFile::open(part(1)).part_count(), 3);

  write_part(part(2), 2, "b", 3);
  EXPECT_TRUE(contains(refused(part(1)), "got split.no 2, expected 1; at byte 24"));
  write_part(part(2), 1, "b", 3, 4);
  EXPECT_TRUE(contains(refused(part(1)), "got split.count 4, expected 3; at byte 46"));
  EXPECT_TRUE(contains(refused(part(2)), "got split.count 4, expected 3; at byte 46"));
  write_part(part(2), 1, "c", 3);
  const std::string twice = refused(part(1));
  EXPECT_TRUE(contains(twice, "\"" + part(3) + "\": tensor \"c\" is in \"" + part(2) + "\", too"))
      << twice;
  write_part(part(2), 1, "b", 4);
  EXPECT_TRUE(contains(refused(part(3)), "another number of tensors; got 3, expected 4; at byte"));
  write_part(part(2), 1, "b", -1);
  EXPECT_TRUE(contains(refused(part(3)), "a wrong value of \"split.tensors.count\"; got -1"));
  std::ofstream(part(2), std::ios::binary) << GgufBytes().start(0, 0).str();
  EXPECT_TRUE(contains(refused(part(1)), "a part of a model without \"split.count\""));
  std::ofstream(part(1), std::ios::binary)
      << GgufBytes().start(0, 1).key("split.count", GgufType::string).text("3").str();
  EXPECT_TRUE(contains(refused(part(1)), "a wrong value of \"split.count\"; got no integer"));
  std::ofstream(part(1), std::ios::binary)
      << GgufBytes().start(0, 1).key("split.count", GgufType::u32).put(65536u).str();
  EXPECT_TRUE(contains(refused(part(1)), "got 65536, expected 0 to 65535; at byte 24"));
}

}  // namespace
}  // namespace hearth::io
