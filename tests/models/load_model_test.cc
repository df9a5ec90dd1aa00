// What is loaded with which context, and what errors of files say.
#include "models/loading/load_model.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "error_text.h"
#include "hearth/io.h"
#include "models/golden_model.h"
#include "models/language/folder/folder_model.h"

namespace hearth::models {
namespace {

// Within `folder` as the working directory.
class WithinFolder {
 public:
  explicit WithinFolder(const std::filesystem::path& folder)
      : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  WithinFolder(const WithinFolder&) = delete;
  WithinFolder& operator=(const WithinFolder&) = delete;
  ~WithinFolder() { std::filesystem::current_path(before_); }

 private:
  std::filesystem::path before_;
};

// Also of a name that messages have as a word or a part of one, and never twice.
TEST(LoadModel, ErrorsNameTheFile) {
  const testing::TemporaryFolder folder;
  const WithinFolder within(folder.path());
  const std::string absolute = folder / "m.gguf";
  GgufMetadata metadata = {{"general.architecture", "nonesuch"}};
  for (const std::string& path : {std::string("model"), std::string("of"), absolute}) {
    save_gguf(path, {}, metadata);
    const std::string message =
        check::error_of(ErrorCode::unsupported, [&] { load_language_model(path); });
    EXPECT_TRUE(message.starts_with(path + ": general.architecture: unknown family of models"))
        << message;
    std::filesystem::remove(path);
  }
  const std::string none = check::error_of(ErrorCode::io, [&] { load_language_model(absolute); });
  const std::size_t at = none.find(absolute);
  ASSERT_NE(at, std::string::npos) << none;
  EXPECT_EQ(none.find(absolute, at + 1), std::string::npos) << none;
}

TEST(LoadModel, ModelsMadeForLessThanTheUsualContextHaveTheirOwn) {
  const testing::GoldenModel golden = testing::read_golden_model("llama");
  const ModelContents files{gguf_of_folder(golden.config, testing::golden_weights(golden)),
                            FileKind::folder, ""};
  const auto context_with = [&](const LoadOptions& options) {
    return make_language_model(files, options).config.context;
  };
  const std::int64_t own = context_with({});
  EXPECT_EQ(context_with({.usual_context = own + 1}), own);
  EXPECT_EQ(context_with({.usual_context = own - 1}), own - 1);
  EXPECT_EQ(context_with({.context = own + 2, .usual_context = own - 1}), own + 2);
}

}  // namespace
}  // namespace hearth::models
