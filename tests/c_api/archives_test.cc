#include <unistd.h>

#include <filesystem>

#include "c_api/c_arrays.h"

namespace hearth::c_api::testing {
namespace {

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

}  // namespace
}  // namespace hearth::c_api::testing
