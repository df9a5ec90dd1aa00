#include <unistd.h>

#include <filesystem>

#include <fstream>

#include "c_api/c_arrays.h"

namespace hearth::c_api::testing {
namespace {

// A safetensors file of a header and data, for as long as this lives.
class File {
 public:
  File(const std::string& header, const std::string& data)
      : path_((std::filesystem::temp_directory_path() /
               ("hearth_c_archive_file_" + std::to_string(getpid()) + ".safetensors"))
                  .string()) {
    std::string length(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> 8 * i);
    std::ofstream(path_, std::ios::binary) << length << header << data;
  }
  ~File() { std::filesystem::remove(path_); }
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

TEST(CArchives, AreWrittenAndRead) {
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("hearth_c_archive_" + std::to_string(getpid()) + ".safetensors"))
                               .string();
  const Held x = floats({1, 2, 3, 4}, {2, 2});
  hearth_archive archive;
  ASSERT_EQ(hearth_archive_new(&archive), HEARTH_OK);
  ASSERT_EQ(hearth_archive_add(archive, "layer.weight", x.handle), HEARTH_OK);
  expect_refused(hearth_archive_add(archive, "layer.weight", x.handle),
                 HEARTH_ERROR_INVALID_ARGUMENT, "there is an array of this name");
  ASSERT_EQ(hearth_archive_set_text(archive, "format", "pt"), HEARTH_OK);
  ASSERT_EQ(hearth_archive_save(archive, path.c_str()), HEARTH_OK) << hearth_error_message();
  const std::int64_t handles = statistic("handles.archives");
  EXPECT_EQ(hearth_archive_release(archive), HEARTH_OK);
  EXPECT_EQ(statistic("handles.archives"), handles - 1);
  expect_refused(hearth_archive_release(archive), HEARTH_ERROR_INVALID_HANDLE,
                 "hearth_archive_release: archive: no such handle");

  ASSERT_EQ(hearth_archive_load(path.c_str(), HEARTH_DEFAULT_DEVICE, &archive), HEARTH_OK)
      << hearth_error_message();
  std::size_t count = 0;
  ASSERT_EQ(hearth_archive_count(archive, &count), HEARTH_OK);
  EXPECT_EQ(count, 1u);
  const char* name = nullptr;
  ASSERT_EQ(hearth_archive_name(archive, 0, &name), HEARTH_OK);
  EXPECT_STREQ(name, "layer.weight");
  expect_refused(hearth_archive_name(archive, 1, &name), HEARTH_ERROR_INVALID_ARGUMENT,
                 "index out of range");
  const char* text = nullptr;
  ASSERT_EQ(hearth_archive_text(archive, "format", &text), HEARTH_OK);
  EXPECT_STREQ(text, "pt");
  ASSERT_EQ(hearth_archive_text(archive, "author", &text), HEARTH_OK);
  EXPECT_EQ(text, nullptr);
  hearth_array y = {0};
  ASSERT_EQ(hearth_archive_get(archive, "layer.weight", &y), HEARTH_OK);
  EXPECT_EQ(values_of(Held(y)), (std::vector<float>{1, 2, 3, 4}));
  expect_refused(
      hearth_archive_get(archive, "bias", &y), HEARTH_ERROR_INVALID_ARGUMENT,
      "hearth_archive_get: no array of this name; got \"bias\", expected the name of one of "
      "the archive's 1 arrays");
  EXPECT_EQ(hearth_archive_release(archive), HEARTH_OK);
  std::filesystem::remove(path);
  EXPECT_EQ(hearth_archive_load(path.c_str(), HEARTH_DEFAULT_DEVICE, &archive), HEARTH_ERROR_IO);
}

TEST(CArchives, NamesAndTextsAreStringsOfC) {
  const std::string tensor = R"({"dtype": "F32", "shape": [1], "data_offsets": [0, 4]})";
  const auto refuse = [](const std::string& header, const std::string& data,
                         const std::string& part) {
    const File file(header, data);
    hearth_archive archive = {0};
    expect_refused(hearth_archive_load(file.path(), HEARTH_DEFAULT_DEVICE, &archive),
                   HEARTH_ERROR_UNSUPPORTED, part);
    EXPECT_EQ(archive.id, 0u);
  };
  refuse(
      R"({"a\u0000b": )" + tensor + "}", "1234",
      "hearth_archive_load: a byte of zero, at which C ends texts; got one in the name of tensor "
      "\"a\\x00b\" of ");
  refuse(R"({"__metadata__": {"format": "p\u0000t"}})", "", "got one in the text \"format\" of ");
  refuse(R"({"__metadata__": {"\u0000": "pt"}})", "", "got one in the name of text \"\\x00\" of ");
}

TEST(CArchives, BoolsAreZeroAndOne) {
  const std::string header = R"({"a": {"dtype": "BOOL", "shape": [4], "data_offsets": [0, 4]},)"
                             R"( "b": {"dtype": "BOOL", "shape": [4], "data_offsets": [4, 8]}})";
  const File file(header, std::string("\0\1\2\xff\1\0\0\1", 8));
  hearth_archive archive = {0};
  ASSERT_EQ(hearth_archive_load(file.path(), HEARTH_DEFAULT_DEVICE, &archive), HEARTH_OK)
      << hearth_error_message();
  const auto bytes_of = [&](const char* name) {
    hearth_array array = {0};
    EXPECT_EQ(hearth_archive_get(archive, name, &array), HEARTH_OK);
    const Held held(array);
    char read[4] = {};
    EXPECT_EQ(hearth_array_read(array, read, sizeof read), HEARTH_OK) << hearth_error_message();
    return std::vector<int>(read, read + 4);
  };
  EXPECT_EQ(bytes_of("a"), (std::vector<int>{0, 1, 1, 1}));
  EXPECT_EQ(bytes_of("b"), (std::vector<int>{1, 0, 0, 1}));
  EXPECT_EQ(hearth_archive_release(archive), HEARTH_OK);
}

}  // namespace
}  // namespace hearth::c_api::testing
