#include <gtest/gtest.h>

#include <filesystem>

#include "error_text.h"
#include "io/file.h"
#include "io/gguf_writer.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::models {
namespace {

using Ids = std::vector<std::int32_t>;

// A folder that goes with the object.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "hearth_read_tokenizer_test") {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = (path_ / name).string();
    io::replace_file(path, text);
    return path;
  }

 private:
  std::filesystem::path path_;
};

TEST(ReadTokenizer, KnowsBothFormats) {
  const Folder folder;
  const GgufMetadata metadata = {
      {"tokenizer.ggml.model", "gpt2"},
      {"tokenizer.ggml.pre", "gpt-2"},
      {"tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab"}},
      {"tokenizer.ggml.merges", std::vector<std::string>{"a b"}}};
  const std::string gguf = folder.file("model.bin", io::gguf_header({}, metadata, 32));
  EXPECT_EQ(read_tokenizer(gguf).encode("aba"), (Ids{2, 0}));

  folder.file("tokenizer_config.json", R"({"eos_token": "b"})");
  const std::string json = folder.file(
      "tokenizer.json",
      R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})");
  const Tokenizer tokenizer = read_tokenizer(json);
  EXPECT_EQ(tokenizer.encode("aba"), (Ids{2, 0}));
  EXPECT_EQ(tokenizer.special().eos, 1);
}

TEST(ReadTokenizer, EndsAreThoseOfAllConfigurations) {
  const Folder folder;
  const std::string json =
      folder.file("tokenizer.json",
                  R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4},
          "merges": []}})");
  const auto ends = [&] {
    const Tokenizer tokenizer = read_tokenizer(json);
    Ids found;
    for (std::int32_t id = 0; id < 5; ++id) {
      if (tokenizer.is_end_of_generation(id)) found.push_back(id);
    }
    return found;
  };
  EXPECT_EQ(ends(), Ids());
  folder.file("config.json", R"({"eos_token_id": 1})");
  EXPECT_EQ(ends(), Ids{1});
  folder.file("generation_config.json", R"({"eos_token_id": [3, 1]})");
  EXPECT_EQ(ends(), (Ids{1, 3}));
  EXPECT_EQ(read_tokenizer(json).special().eos, 3);  // the first
  folder.file("config.json", R"({"eos_token_id": null, "text_config": {"eos_token_id": [4]}})");
  EXPECT_EQ(ends(), (Ids{1, 3, 4}));
  for (const char* wrong : {R"({"eos_token_id": "a"})", R"({"eos_token_id": [1, 0.5]})", "[1]",
                            R"({"eos_token_id": 70})"}) {
    folder.file("config.json", wrong);
    check::error_of(ErrorCode::corrupt_file, [&] { read_tokenizer(json); });
  }
}

TEST(ReadTokenizer, RefusesOtherFiles) {
  const Folder folder;
  const std::string path = folder.file("x", "neither");
  check::error_of(ErrorCode::corrupt_file, [&] { read_tokenizer(path); });
  check::error_of(ErrorCode::io, [] { read_tokenizer("/no/such/file"); });
}

}  // namespace
}  // namespace hearth::models
