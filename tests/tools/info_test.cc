// `hearth info`: what is said of files of tensors.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "core/json.h"
#include "error_text.h"
#include "io/gguf_bytes.h"
#include "io/gguf_writer.h"
#include "io/safetensors.h"
#include "source_dir.h"
#include "tools/info/describe.h"
#include "tools/json_check.h"
#include "tools/tool_folder.h"

namespace hearth::tools {
namespace {

using check::contains;
using check::error_of;
using check::list;
using check::member;
using check::only;
using check::text;

class Info : public ToolFolder {
 protected:
  std::string write_gguf(const std::string& file, const GgufMetadata& metadata,
                         const GgufOptions& options = {}) const {
    const std::vector<io::GgufTensor> tensors = {{"token_embd.weight", DType::q8_0, {3, 64}},
                                                 {"blk.0.attn_norm.weight", DType::f32, {64}},
                                                 {"blk.0.w\n\x1b[2J", DType::q8_0, {2, 32}}};
    io::GgufWriter writer(path(file), tensors, metadata, options);
    for (const io::GgufTensor& each : tensors) {
      const auto bytes = hearth::bytes_of(each.dtype, element_count(each.shape));
      writer.write(std::vector<std::byte>(static_cast<std::size_t>(bytes)));
    }
    writer.commit();
    return writer.paths().back();
  }

  static GgufMetadata metadata() {
    std::vector<std::string> tokens;
    for (int i = 0; i < 1000; ++i) tokens.push_back("t" + std::to_string(i));
    return {{"general.architecture", "llama"},
            {"general.name", "A \x1b[31mred\n name"},
            {"llama.block_count", std::uint32_t{1}},
            {"llama.rope.freq_base", 10000.0f},
            {"tokenizer.chat_template", std::string(1000, 'x')},
            {"tokenizer.ggml.tokens", tokens}};
  }
};

TEST_F(Info, ShowsAGgufFile) {
  const ModelFile file = read_model_file(write_gguf("model.gguf", metadata()));
  const std::string shown = info_text(file, {});
  for (const char* part :
       {"format        gguf version 3\n", "architecture  llama\n",
        "name          A \\x1b[31mred\\x0a name\n", "alignment     32\n",
        "q8_0         2         256    272             8.50\n",
        "f32          1          64    256            32.00\n",
        "all          3         320    528            13.20\n",
        "llama.block_count        u32           1\n",
        "llama.rope.freq_base     f32           10000\n",
        "tokenizer.ggml.tokens    string[1000]  \"t0\", \"t1\", \"t2\", \"t3\", \"t4\", \"t5\", "
        "\"t6\", \"t7\", ...\n",
        "xxx...\"\n"}) {
    EXPECT_TRUE(contains(shown, part)) << part << "\nin\n" << shown;
  }
  EXPECT_FALSE(contains(shown, "token_embd"));
  const std::string all = info_text(file, {.all = true, .tensors = true});
  EXPECT_TRUE(contains(all, "\"t999\"\n"));
  EXPECT_TRUE(contains(all, std::string(1000, 'x')));
  EXPECT_TRUE(contains(all, "token_embd.weight       q8_0  [3, 64]  204\n")) << all;
  EXPECT_TRUE(contains(all, "blk.0.w\\x0a\\x1b[2J"));
  for (const std::string& each : {shown, all}) {
    EXPECT_TRUE(std::all_of(each.begin(), each.end(),
                            [](char c) { return c == '\n' || (c >= ' ' && c < 0x7f); }));
  }
}

TEST_F(Info, DescribesItAsJson) {
  const ModelFile file = read_model_file(write_gguf("model.gguf", metadata()));
  const auto read = [&](const InfoOptions& options) {
    return *parse_json(json_text(info_document(file, options)));
  };
  const JsonValue document = read({.tensors = true});
  EXPECT_EQ(text(document, "format"), "gguf");
  EXPECT_EQ(text(document, "architecture"), "llama");
  EXPECT_EQ(*member(document, "version"), JsonValue(std::int64_t{3}));
  EXPECT_EQ(*member(document, "files"), JsonValue(std::int64_t{1}));
  EXPECT_EQ(*member(document, "parameters"), JsonValue(std::int64_t{320}));
  EXPECT_EQ(*member(document, "bytes"), JsonValue(std::int64_t{528}));
  ASSERT_EQ(list(document, "dtypes").size(), 2u);
  EXPECT_EQ(*member(list(document, "dtypes")[0], "bits_per_weight"), JsonValue(8.5));
  const JsonValue* tensor = only(list(document, "tensors"), "token_embd.weight");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(json_text(*tensor),
            R"({"name":"token_embd.weight","dtype":"q8_0","shape":[3,64],"bytes":204})");
  const JsonValue& tokens = list(document, "metadata")[5];
  EXPECT_EQ(text(tokens, "type"), "string");
  EXPECT_EQ(*member(tokens, "count"), JsonValue(std::int64_t{1000}));
  EXPECT_EQ(list(tokens, "value").size(), 8u);
  const JsonValue whole = read({.all = true});
  EXPECT_EQ(list(list(whole, "metadata")[5], "value").size(), 1000u);
  EXPECT_EQ(member(whole, "tensors"), nullptr);
}

TEST_F(Info, TakesWhateverTheMetadataHold) {
  GgufMetadata odd = testing::every_value();
  odd.set("general.architecture", std::vector<std::string>{"llama"});
  odd.set("general.name", 5);
  odd.set("\xff key", std::numeric_limits<double>::quiet_NaN());
  const ModelFile file = read_model_file(write_gguf("model.gguf", odd));
  const std::string json = json_text(info_document(file, {}));
  const JsonValue document = *parse_json(json);
  EXPECT_EQ(*member(document, "architecture"), JsonValue(nullptr));
  EXPECT_EQ(*member(document, "name"), JsonValue(nullptr));
  EXPECT_TRUE(contains(json, "{\"key\":\"\xef\xbf\xbd key\",\"type\":\"f64\",\"value\":null}"));
  EXPECT_TRUE(contains(json, "18446744073709551615"));
  EXPECT_TRUE(contains(info_text(file, {}), "\\xff key"));
}

TEST_F(Info, JoinsSplitModels) {
  const ModelFile file =
      read_model_file(write_gguf("model.gguf", metadata(), {.max_shard_bytes = 1}));
  EXPECT_EQ(file.files, 3);
  EXPECT_EQ(file.tensors.size(), 3u);
  EXPECT_TRUE(contains(info_text(file, {}), "gguf version 3, 3 files\n"));
}

TEST_F(Info, ShowsASafetensorsFile) {
  const std::vector<std::byte> zeros(12);
  io::write_safetensors(path("m.safetensors"), {{"w", DType::bf16, {2, 3}, zeros}},
                        {{"format", "pt"}});
  const ModelFile file = read_model_file(path("m.safetensors"));
  EXPECT_EQ(info_text(file, {.tensors = true}),
            "format  safetensors\n\n"
            "dtype  tensors  parameters  bytes  bits per weight\n"
            "bf16         1           6     12            16.00\n\n"
            "format  string  \"pt\"\n\n"
            "w  bf16  [2, 3]  12\n");
  const JsonValue document = info_document(file, {});
  EXPECT_EQ(*member(document, "version"), JsonValue(nullptr));
  EXPECT_EQ(*member(document, "alignment"), JsonValue(nullptr));
}

TEST_F(Info, ShowsAFolderOfAModel) {
  const std::string folder = path("model");
  std::filesystem::copy(check::source_dir() / "tests/golden/folders/float8", folder);
  std::ofstream(folder + "/tokenizer.json") << "{}";
  const ModelFile file = read_model_file(folder);
  EXPECT_EQ(file.files, 2);
  const std::string shown = info_text(file, {.tensors = true});
  for (const char* part :
       {"format        safetensors folder, 2 files\n", "architecture  qwen3\n",
        "with          tokenizer.json\n", "f8_e4m3        5         855    855",
        "f8_e8m0        1           4      4",
        "\nblocks.weight            f8_e4m3  [10, 20]     200\n",
        "\nmodel_type           string  \"qwen3\"\n", "\nquantization_config  string  "}) {
    EXPECT_TRUE(contains(shown, part)) << part << "\nin\n" << shown;
  }
  const JsonValue document = *parse_json(json_text(info_document(file, {})));
  EXPECT_EQ(text(document, "architecture"), "qwen3");
  EXPECT_EQ(text(document, "family"), "qwen3");
  EXPECT_EQ(list(document, "with"), JsonArray{"tokenizer.json"});
  std::ofstream(folder + "/config.json") << R"({"model_type": "zzz"})";
  EXPECT_TRUE(contains(info_text(read_model_file(folder), {}),
                       "architecture  zzz\nfamily        none that hearth knows\n"));
  std::ofstream(folder + "/config.json") << "[]";
  error_of(ErrorCode::corrupt_file, [&] { read_model_file(folder); });
  std::filesystem::remove(folder + "/config.json");
  EXPECT_TRUE(contains(error_of(ErrorCode::unsupported, [&] { read_model_file(folder); }),
                       "info: the folder has no model"));
  std::ofstream(folder + "/checkpoint.safetensors") << "x";
  EXPECT_TRUE(contains(error_of(ErrorCode::unsupported, [&] { read_model_file(folder); }),
                       "got checkpoint.safetensors alone, of a run that was stopped"));
}

TEST_F(Info, KnowsFilesByTheirStart) {
  std::filesystem::copy_file(write_gguf("model.gguf", {}), path("blob"));
  EXPECT_EQ(read_model_file(path("blob")).format, "gguf");
  std::ofstream(path("other")) << "text";
  EXPECT_TRUE(contains(error_of(ErrorCode::unsupported, [&] { read_model_file(path("other")); }),
                       "info: the format is not known"));
  error_of(ErrorCode::io, [&] { read_model_file(path("nothing")); });
  std::ofstream(path("other.gguf")) << "text";
  error_of(ErrorCode::corrupt_file, [&] { read_model_file(path("other.gguf")); });
}

#if defined(HEARTH_TOOL) && !defined(_WIN32)
TEST_F(Info, IsACommand) {
  const std::string file = write_gguf("model.gguf", metadata());
  EXPECT_TRUE(contains(run({"info", file, "--tensors"}).out, "token_embd.weight"));
  EXPECT_TRUE(parse_json(run({"info", file, "--json", "--all"}).out));
  std::ofstream(path("short.gguf"), std::ios::binary) << contents(file).substr(0, 100);
  const Outcome outcome = run({"info", path("short.gguf")});
  expect_refused(outcome);
  EXPECT_TRUE(contains(outcome.err, "at byte")) << outcome.err;
  expect_refused(run({"info"}));
}
#endif

}  // namespace
}  // namespace hearth::tools
