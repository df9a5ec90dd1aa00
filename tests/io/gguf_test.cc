#include "io/gguf.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "error_text.h"
#include "io/gguf_bytes.h"
#include "io/gguf_types.h"
#include "io/gguf_writer.h"
#include "source_dir.h"

namespace hearth::io {
namespace {

namespace fs = std::filesystem;
using check::contains;
using check::error_of;
using testing::bytes_of;
using testing::every_value;
using testing::GgufBytes;

TEST(GgufMetadata, KeepsItsOrder) {
  GgufMetadata metadata = {{"b", 1}, {"a", "text"}, {"c", 2.5f}, {"b", std::uint8_t{3}}};
  metadata.set("a", true);
  EXPECT_TRUE(metadata.insert("d", 4));
  EXPECT_FALSE(metadata.insert("b", 4));
  std::string keys;
  for (const GgufEntry& entry : metadata) keys += entry.key;
  EXPECT_EQ(keys, "bacd");
  EXPECT_EQ(metadata.find("b")->type(), GgufType::u8);
  EXPECT_TRUE(metadata.as_bool("a"));
  EXPECT_TRUE(metadata.erase("b"));
  EXPECT_FALSE(metadata.erase("b"));
  EXPECT_EQ(metadata.size(), 3u);
  EXPECT_EQ(metadata.as_float("c"), 2.5);
  EXPECT_EQ(metadata.as_int("d"), 4);
  EXPECT_FALSE(metadata.contains("b"));
  EXPECT_EQ(metadata.find(""), nullptr);
}

TEST(GgufMetadata, ReadsIntegersOfEveryWidth) {
  const GgufMetadata metadata = every_value();
  EXPECT_EQ(metadata.as_int("a.u8"), 200);
  EXPECT_EQ(metadata.as_int("a.i8"), -100);
  EXPECT_EQ(metadata.as_int("a.u16"), 60000);
  EXPECT_EQ(metadata.as_int("a.i16"), -30000);
  EXPECT_EQ(metadata.as_int("a.u32"), 4000000000);
  EXPECT_EQ(metadata.as_int("a.i32"), -2000000000);
  EXPECT_EQ(metadata.as_int("a.i64"), -9000000000000000000);
  EXPECT_EQ(metadata.as_float("a.f32"), 0.1f);
  EXPECT_EQ(metadata.as_float("a.f64"), 0.1);
  EXPECT_EQ(metadata.as_float("a.u64"), 18e18);
  EXPECT_EQ(metadata.as_ints("all.u16"), (std::vector<std::int64_t>{0, 65535}));
  EXPECT_EQ(metadata.as_ints("all.i8"), (std::vector<std::int64_t>{-128, 127}));
  EXPECT_EQ(metadata.as_floats("all.f32"), (std::vector<double>{-1.5, 3e38f}));
  EXPECT_EQ(metadata.as_floats("all.i16"), (std::vector<double>{-32768, 32767}));
  EXPECT_EQ(metadata.as_bools("all.bool"), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(metadata.as_texts("all.text")[1], "one");
  EXPECT_EQ(metadata.at("all.u64").size(), 2);
  EXPECT_EQ(metadata.at("all.u64").element_type(), GgufType::u64);
  EXPECT_EQ(metadata.at("a.text").size(), 1);
}

TEST(GgufMetadata, HasDefaults) {
  const GgufMetadata metadata = every_value();
  EXPECT_EQ(metadata.as_int("x", 7), 7);
  EXPECT_EQ(metadata.as_int("a.u8", 7), 200);
  EXPECT_EQ(metadata.as_float("x", 0.5), 0.5);
  EXPECT_EQ(metadata.as_float("a.f64", 0.5), 0.1);
  EXPECT_TRUE(metadata.as_bool("x", true));
  EXPECT_TRUE(metadata.as_bool("a.bool", false));
  EXPECT_EQ(metadata.as_text("x", "none"), "none");
  EXPECT_EQ(metadata.as_text("general.architecture", "none"), "llama");
}

TEST(GgufMetadata, ErrorsNameTheKey) {
  const GgufMetadata metadata = every_value();
  const auto refused = [](auto call) { return error_of(ErrorCode::invalid_argument, call); };
  EXPECT_EQ(refused([&] { static_cast<void>(metadata.as_int("x\n")); }),
            R"(gguf: a key is missing in the metadata; got no "x\x0a", expected it there)");
  EXPECT_EQ(refused([&] { static_cast<void>(metadata.as_int("a.f32", 1)); }),
            R"(gguf: the value of "a.f32" has another type; got f32, expected an integer)");
  EXPECT_EQ(refused([&] { static_cast<void>(metadata.as_int("a.bool")); }),
            R"(gguf: the value of "a.bool" has another type; got bool, expected an integer)");
  EXPECT_EQ(refused([&] { static_cast<void>(metadata.as_int("a.u64")); }),
            R"(gguf: the value of "a.u64" is out of range; got 18000000000000000000, )"
            "expected an integer of 64 bits with a sign");
  EXPECT_EQ(refused([&] { static_cast<void>(metadata.as_text("all.text")); }),
            R"(gguf: the value of "all.text" has another type; got an array of string, )"
            "expected string");
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { static_cast<void>(metadata.as_float("a.text")); },
           [&] { static_cast<void>(metadata.as_bool("a.u8")); },
           [&] { static_cast<void>(metadata.as_ints("a.u8")); },
           [&] { static_cast<void>(metadata.as_ints("all.u64")); },
           [&] { static_cast<void>(metadata.as_ints("all.f32")); },
           [&] { static_cast<void>(metadata.as_floats("all.text")); },
           [&] { static_cast<void>(metadata.as_bools("all.u8")); },
           [&] { static_cast<void>(metadata.as_texts("all.f32")); },
           [&] { static_cast<void>(metadata.at("all.u8").as_text("all.u8")); }}) {
    EXPECT_TRUE(contains(refused(call), "gguf: the value of \"a"));
  }
  EXPECT_TRUE(contains(refused([] { static_cast<void>(GgufValue(1).as_text()); }), "a value has"));
}

TEST(GgufTypes, AreThoseOfGgml) {
  int count = 0;
  for (std::int32_t number = 0; gguf_tensor_type(number) != nullptr; ++number) {
    const GgufTensorType& type = *gguf_tensor_type(number);
    if (!type.dtype) continue;
    ++count;
    EXPECT_EQ(gguf_type_number(*type.dtype), number);
    std::string name(type.name);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    EXPECT_EQ(hearth::name(*type.dtype), name);
  }
  EXPECT_EQ(count, kPackedDTypeCount - 2 + 8);  // without those of MLX
  EXPECT_EQ(gguf_type_number(DType::q4_k), 12);
  EXPECT_EQ(gguf_type_number(DType::bf16), 30);
  EXPECT_EQ(gguf_type_number(DType::nvfp4), 40);
  for (const DType dtype : {DType::u8, DType::u16, DType::u32, DType::u64, DType::bool_,
                            DType::affine6, DType::affine8}) {
    EXPECT_EQ(gguf_type_number(dtype), std::nullopt);
  }
}

TEST(GgufReader, ReadsAFile) {
  for (const std::uint32_t version : {2u, 3u}) {
    const std::string bytes = GgufBytes()
                                  .start(3, 1, version)
                                  .key("general.name", GgufType::string)
                                  .text("small")
                                  .tensor("w", {2, 3}, 0, 32)
                                  .tensor("scalar", {}, 26, 0)
                                  .tensor("q", {64, 1}, 2, 64)
                                  .data(100)
                                  .str();
    const GgufFile file = GgufFile::parse(bytes_of(bytes));
    EXPECT_EQ(file.version(), static_cast<int>(version));
    EXPECT_EQ(file.alignment(), 32);
    EXPECT_EQ(file.metadata().as_text("general.name"), "small");
    ASSERT_EQ(file.tensors().size(), 3u);
    EXPECT_EQ(file.tensors()[0].name, "w");
    EXPECT_EQ(file.tensors()[0].shape, Shape({3, 2}));
    EXPECT_EQ(file.tensors()[0].bytes.size(), 24u);
    EXPECT_EQ(file.tensors()[0].bytes[0], std::byte{32});
    EXPECT_EQ(file.find("scalar")->shape.rank(), 0);
    EXPECT_EQ(file.find("scalar")->dtype, DType::i32);
    EXPECT_EQ(file.find("q")->dtype, DType::q4_0);
    EXPECT_EQ(file.find("q")->shape, Shape({1, 64}));
    EXPECT_EQ(file.find("q")->bytes.size(), 36u);
    EXPECT_EQ(file.find("x"), nullptr);
  }
}

TEST(GgufReader, AllowsGapsAndEmptyTensors) {
  const std::string bytes = GgufBytes()
                                .start(4, 1)
                                .key("general.alignment", GgufType::u32)
                                .put(std::uint32_t{8})
                                .tensor("late", {1}, 28, 48)
                                .tensor("none", {0, 1000}, 0, 8)
                                .tensor("early", {2}, 28, 8)
                                .tensor("end", {3, 0}, 2 /* of no blocks */, 56)
                                .data(56, 8)
                                .str();
  EXPECT_TRUE(contains(error_of([&] { GgufFile::parse(bytes_of(bytes)); }), "no whole blocks"));
  const std::string good = std::string(bytes).replace(bytes.find("end") + 7, 1, "\x20");
  const GgufFile file = GgufFile::parse(bytes_of(good));
  EXPECT_EQ(file.find("late")->bytes[0], std::byte{48});
  EXPECT_EQ(file.find("early")->bytes[0], std::byte{8});
  EXPECT_EQ(file.find("none")->shape, Shape({1000, 0}));
  EXPECT_EQ(file.find("end")->shape, Shape({0, 32}));
  EXPECT_TRUE(file.find("end")->bytes.empty());
}

TEST(GgufReader, ReadsEmptyFiles) {
  const std::string none = GgufBytes().start(0, 0).str();
  const GgufFile without_tensors = GgufFile::parse(bytes_of(none));
  EXPECT_TRUE(without_tensors.tensors().empty());
  // What a file without padding has: nothing behind the descriptions.
  const std::string empty = GgufBytes().start(1, 0).tensor("t", {0}, 0, 0).str();
  const GgufFile without_data = GgufFile::parse(bytes_of(empty));
  EXPECT_TRUE(without_data.find("t")->bytes.empty());
}

class GgufFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "hearth_gguf_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = (folder_ / "model.gguf").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string contents(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }

  fs::path folder_;
  std::string path_;
};

// Of two blocks of a packed dtype.
GgufTensor two_by_two_blocks(DType dtype) {
  return {"blk." + std::string(name(dtype)), dtype, {2, 2 * block_of(dtype)}};
}

std::string data_of(const GgufTensor& tensor) {
  const auto bytes = static_cast<std::size_t>(bytes_of(tensor.dtype, element_count(tensor.shape)));
  std::string data(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 7 + tensor.name.size());
  return data;
}

TEST_F(GgufFiles, RoundTripEverything) {
  std::vector<GgufTensor> tensors = {{"", DType::f32, {}},
                                     {"empty", DType::f16, {3, 0, 2}},
                                     {std::string(63, 'n'), DType::i8, {1, 2, 3, 5}}};
  for (std::int32_t number = 0; gguf_tensor_type(number) != nullptr; ++number) {
    const auto& dtype = gguf_tensor_type(number)->dtype;
    if (dtype) tensors.push_back(two_by_two_blocks(*dtype));
  }
  for (const std::int64_t alignment : {0, 8, 32, 64, 4096}) {
    GgufWriter writer(path_, tensors, every_value(), {.alignment = alignment});
    for (const GgufTensor& tensor : tensors) writer.write(bytes_of(data_of(tensor)));
    writer.commit();
    EXPECT_EQ(writer.paths(), std::vector{path_});

    const GgufFile file = GgufFile::open(path_);
    const std::int64_t written = alignment == 0 ? 32 : alignment;
    GgufMetadata expected = every_value();
    if (written != 32) expected.set("general.alignment", static_cast<std::uint32_t>(written));
    EXPECT_EQ(file.metadata(), expected);
    EXPECT_EQ(file.alignment(), written);
    EXPECT_EQ(file.version(), 3);
    EXPECT_EQ(file.part_count(), 1);
    EXPECT_EQ(contents(path_).size() % static_cast<std::size_t>(written), 0u);
    ASSERT_EQ(file.tensors().size(), tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const GgufView& view = file.tensors()[i];
      EXPECT_EQ(view.name, tensors[i].name);
      EXPECT_EQ(view.dtype, tensors[i].dtype);
      EXPECT_EQ(view.shape, tensors[i].shape);
      const auto data = data_of(tensors[i]);
      EXPECT_TRUE(std::ranges::equal(view.bytes, bytes_of(data))) << view.name;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.bytes.data()) %
                    std::min(written, std::int64_t{4096}),
                0u);
    }
  }
}

TEST_F(GgufFiles, TakeTheAlignmentOfTheMetadata) {
  const GgufMetadata metadata = {{"general.alignment", std::uint64_t{64}}, {"a", 1}};
  GgufWriter(path_, {}, metadata).commit();
  const GgufFile file = GgufFile::open(path_);
  EXPECT_EQ(file.alignment(), 64);
  EXPECT_EQ(file.metadata(), (GgufMetadata{{"general.alignment", std::uint32_t{64}}, {"a", 1}}));
  GgufWriter(path_, {}, metadata, {.alignment = 32}).commit();
  const GgufFile again = GgufFile::open(path_);
  EXPECT_EQ(again.metadata().as_int("general.alignment"), 32);
}

TEST_F(GgufFiles, AreWrittenWholeOrNotAtAll) {
  const std::vector<GgufTensor> tensors = {{"a", DType::f32, {2}}, {"b", DType::i8, {3}}};
  std::ofstream(path_) << "old";
  const auto refused = [](auto call) { return error_of(ErrorCode::invalid_argument, call); };
  {
    GgufWriter writer(path_, tensors);
    EXPECT_TRUE(contains(refused([&] { writer.write(bytes_of("7 bytes")); }),
                         R"(tensor "a" has bytes that do not fit its shape; got 7, expected 8)"));
    writer.write(bytes_of("8 bytes."));
    EXPECT_TRUE(contains(refused([&] { writer.commit(); }), "missing; got 1, expected 2"));
    writer.write(bytes_of("123"));
    EXPECT_TRUE(contains(refused([&] { writer.write({}); }), "more tensors than were announced"));
    EXPECT_EQ(contents(path_), "old");
  }
  EXPECT_EQ(contents(path_), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(GgufFiles, RefuseWhatCannotBeWritten) {
  const auto refuse = [&](std::vector<GgufTensor> tensors, const std::string& part,
                          const GgufMetadata& metadata = {}, const GgufOptions& options = {},
                          ErrorCode code = ErrorCode::invalid_argument) {
    const std::string message =
        error_of(code, [&] { GgufWriter(path_, std::move(tensors), metadata, options); });
    EXPECT_TRUE(message.starts_with("save_gguf: ")) << message;
    EXPECT_TRUE(contains(message, part)) << message;
    EXPECT_TRUE(fs::is_empty(folder_));
  };
  const GgufTensor good = {"a", DType::f32, {2}};
  constexpr auto kHuge = std::numeric_limits<std::int64_t>::max();
  refuse({good, good}, "two tensors with one name; got \"a\"");
  refuse({{std::string(64, 'n'), DType::f32, {2}}}, "too long; got 64 bytes");
  refuse({{"a", DType::u8, {2}}}, "a dtype that the format lacks; got u8", {}, {},
         ErrorCode::dtype);
  refuse({{"a", DType::bool_, {2}}}, "got bool", {}, {}, ErrorCode::dtype);
  refuse({{"a", DType::f32, {1, 1, 1, 1, 1}}}, "too many axes");
  refuse({{"a", DType::f32, {-1, -1}}}, "negative extent");
  refuse({{"a", DType::q4_k, {2, 128}}}, "got q4_k [2, 128], expected rows of whole blocks");
  refuse({{"a", DType::q4_0, {}}}, "whole blocks");
  refuse({{"a", DType::f64, {kHuge}}}, "less than 2^63 bytes");
  refuse({{"a", DType::i8, {kHuge}}, {"b", DType::i8, {kHuge}}, {"c", DType::i8, {kHuge}}},
         "more bytes of tensors than a file can have");
  refuse({good}, "a key of the metadata has no characters", {{"", 1}});
  refuse({good}, "a wrong alignment; got 4,", {}, {.alignment = 4});
  refuse({good}, "a wrong alignment; got 48,", {}, {.alignment = 48});
  refuse({good}, "a wrong alignment; got -32,", {}, {.alignment = -32});
  refuse({good}, "a wrong alignment; got 0,", {{"general.alignment", std::uint32_t{0}}});
  refuse({good}, "negative limit", {}, {.max_shard_bytes = -1});
  const std::string text = error_of(ErrorCode::invalid_argument,
                                    [&] { GgufWriter(path_, {}, {{"general.alignment", "32"}}); });
  EXPECT_TRUE(contains(text, "\"general.alignment\" has another type; got string")) << text;
}

// tests/python/gguf_test.py reads this file, too. Where it is to be another, run this test with
// HEARTH_UPDATE_GOLDEN set.
TEST_F(GgufFiles, AreTheGoldenOne) {
  std::vector<GgufTensor> tensors = {
      {"scalar", DType::i32, {}}, {"w", DType::f32, {2, 3}}, {"deep", DType::f16, {2, 1, 3, 2}}};
  for (const DType dtype : {DType::bf16, DType::f64, DType::i8, DType::i16, DType::i64, DType::q4_0,
                            DType::q8_0, DType::q6_k, DType::mxfp4, DType::nvfp4}) {
    tensors.push_back(two_by_two_blocks(dtype));
  }
  GgufMetadata metadata = every_value();
  // Python's strings and its reader of empty arrays take no more.
  metadata.set("all.text", std::vector<std::string>{"", "one", "\xe2\x82\xac"});
  metadata.erase("none.text");
  metadata.erase("none.f32");
  GgufWriter writer(path_, tensors, metadata);
  for (const GgufTensor& tensor : tensors) writer.write(bytes_of(data_of(tensor)));
  writer.commit();
  const fs::path golden = check::source_dir() / "tests/golden/written.gguf";
  if (std::getenv("HEARTH_UPDATE_GOLDEN") != nullptr) {
    fs::copy_file(path_, golden, fs::copy_options::overwrite_existing);
  }
  EXPECT_EQ(contents(path_), contents(golden));
}

}  // namespace
}  // namespace hearth::io
