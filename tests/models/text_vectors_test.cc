// Texts as vectors: how rows become one, what folders and files say of it, texts that are cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "core/json.h"
#include "error_text.h"
#include "hearth/ops.h"
#include "models/encoded_tokens.h"
#include "models/files/model_folder.h"
#include "models/golden_language_model.h"
#include "models/golden_model.h"
#include "models/language/folder/file_layout.h"
#include "models/language/folder/folder_model.h"
#include "models/language/model/text_encoder.h"
#include "models/language/read_config.h"
#include "models/language/read_text_vectors.h"
#include "models/language/require_scores.h"
#include "models/language/sentence_modules.h"
#include "models/loading/load_model.h"
#include "models/tokenizer/from_gguf.h"

namespace hearth::models {
namespace {

using check::contains;
using check::error_of;
using testing::encode_tokens;
using testing::GoldenModel;
using testing::TemporaryFolder;

constexpr Pooling kPoolings[] = {
    Pooling::mean,    Pooling::first,         Pooling::last,
    Pooling::largest, Pooling::weighted_mean, Pooling::root_mean,
};

// As sentence-transformers has it, of rows [count, dim].
std::vector<double> pooled_rows(const std::vector<double>& rows, std::size_t dim, Pooling pooling) {
  const std::size_t count = rows.size() / dim;
  std::vector<double> made(dim, pooling == Pooling::largest ? -INFINITY : 0.0);
  double weights = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double weight = pooling == Pooling::weighted_mean ? static_cast<double>(i + 1) : 1.0;
    weights += weight;
    for (std::size_t j = 0; j < dim; ++j) {
      const double x = rows[i * dim + j];
      if (pooling == Pooling::largest) {
        made[j] = std::max(made[j], x);
      } else {
        made[j] += weight * x;
      }
    }
  }
  if (pooling == Pooling::first) return {rows.begin(), rows.begin() + static_cast<int>(dim)};
  if (pooling == Pooling::last) return {rows.end() - static_cast<int>(dim), rows.end()};
  if (pooling == Pooling::largest) return made;
  const double divisor = pooling == Pooling::root_mean ? std::sqrt(weights) : weights;
  for (double& x : made) x /= divisor;
  return made;
}

std::vector<double> normalised(std::vector<double> x) {
  double sum = 0;
  for (const double each : x) sum += each * each;
  for (double& each : x) each /= std::sqrt(sum);
  return x;
}

// Texts of many lengths, in no order.
TokenLists some_texts(const LanguageModel& model, int count) {
  TokenLists texts;
  for (int i = 0; i < count; ++i) {
    std::vector<std::int32_t>& text = texts.emplace_back();
    const std::int64_t length = 1 + i * 7 % std::min<std::int64_t>(longest_vector_text(model), 29);
    for (std::int64_t j = 0; j < length; ++j) {
      text.push_back(static_cast<std::int32_t>((i * 31 + j * 17) % model.vocabulary()));
    }
  }
  return texts;
}

// `model` sees one way or both.
void expect_poolings(LanguageModel model) {
  // Enough for several batches.
  const TokenLists texts = some_texts(model, 80);
  const auto dim = static_cast<std::size_t>(model.config.dim);
  for (const Pooling pooling : kPoolings) {
    for (const bool is_normalised : {false, true}) {
      SCOPED_TRACE(std::string(pooling_name(pooling)) + (is_normalised ? " of length 1" : ""));
      model.config.vectors.pooling = pooling;
      model.config.vectors.is_normalised = is_normalised;
      const std::vector<double> got = embed_texts(model, texts).to_doubles();
      ASSERT_EQ(got.size(), texts.size() * dim);
      for (std::size_t i = 0; i < texts.size(); ++i) {
        std::vector<double> expected =
            pooled_rows(encode_tokens(model, {texts[i]}).to_doubles(), dim, pooling);
        if (is_normalised) expected = normalised(expected);
        for (std::size_t j = 0; j < dim; ++j) {
          ASSERT_NEAR(got[i * dim + j], expected[j], 2e-5 * std::max(1.0, std::fabs(expected[j])))
              << "text " << i << ", column " << j;
        }
      }
    }
  }
}

TEST(TextVectors, ArePooledAsSentenceTransformersDoes) {
  for (const char* name : {"bert", "nomic_bert", "xlm_roberta", "modern_bert"}) {
    expect_poolings(
        testing::golden_language_model(testing::read_golden_model(name), DType::f32, 0));
  }
}

// Of models that see one way, each text by itself.
TEST(TextVectors, OfModelsThatSeeOneWayAreTheirs) {
  const GoldenModel golden = testing::read_golden_model("qwen3");
  LanguageModel model = testing::golden_language_model(golden, DType::f32, 0);
  EXPECT_FALSE(makes_vectors(model.config));
  EXPECT_TRUE(contains(
      error_of(ErrorCode::unsupported, [&] { static_cast<void>(embed_texts(model, {{5}})); }),
      "makes no vectors"));
  model.config.vectors.pooling = Pooling::last;
  EXPECT_TRUE(makes_vectors(model.config));
  expect_poolings(model);
  // The scores of the last row are those that transformers gives.
  const testing::GoldenPrompt& prompt = golden.prompts.back();
  model.config.vectors.is_normalised = false;
  model.config.vectors.pooling = Pooling::last;
  LanguageModel head = model;
  head.output_norm = {};  // done
  const Array vector = embed_texts(model, {{prompt.tokens.begin(), prompt.tokens.end()}});
  const std::vector<double> scores = head.scores(vector).to_doubles();
  const std::size_t width = scores.size();
  for (std::size_t j = 0; j < width; ++j) {
    EXPECT_NEAR(scores[j], prompt.values[prompt.values.size() - width + j], 1e-4);
  }
  model.config.layers.front().mixer = Mixer::scan;
  EXPECT_FALSE(makes_vectors(model.config));
}

// As sentence-transformers saves models that make vectors, with a configuration that says that the
// output is not tied.
TEST(TextVectors, NeedNoOutput) {
  const GoldenModel golden = testing::read_golden_model("qwen3");
  LanguageModel whole = testing::golden_language_model(golden, DType::f32, 0);
  whole.config.vectors.pooling = Pooling::last;
  NamedArrays arrays = testing::golden_weights(golden);
  ASSERT_EQ(std::erase_if(arrays, [](const auto& each) { return each.name == "lm_head.weight"; }),
            1u);
  for (NamedArray& each : arrays) each.name = each.name.substr(std::string("model.").size());
  GgufContents contents = gguf_of_folder(golden.config, arrays);
  const TokenLists texts = some_texts(whole, 9);
  for (const FileKind kind : {FileKind::folder, FileKind::gguf}) {
    if (kind == FileKind::gguf) lay_out_as_file(contents);
    LanguageModel bare(read_config(contents.metadata, kind),
                       Weights(contents.arrays, DType::f32, Device()), Device());
    bare.config.vectors.pooling = Pooling::last;
    EXPECT_EQ(embed_texts(bare, texts).to_doubles(), embed_texts(whole, texts).to_doubles());
    EXPECT_FALSE(bare.config.gives_scores());
    const auto refusal = [](const auto& act) { return error_of(ErrorCode::unsupported, act); };
    EXPECT_TRUE(contains(refusal([&] { require_scores(bare.config, "generate: texts"); }),
                         "generate: texts of a model without its output"));
    EXPECT_TRUE(
        contains(refusal([&] { static_cast<void>(bare.scores(zeros({1, bare.config.dim}))); }),
                 "no weight of the output"));
  }
}

TextVectorConfig read_with(const std::string& architecture,
                           std::initializer_list<GgufEntry> entries) {
  const GgufMetadata metadata(entries);
  return read_text_vectors(Keys(metadata, architecture), family_by_name(architecture));
}

TEST(TextVectors, AreWhatFilesSay) {
  EXPECT_EQ(read_with("bert", {}).pooling, Pooling::mean);
  EXPECT_EQ(read_with("qwen3", {}).pooling, Pooling::none);
  EXPECT_TRUE(read_with("bert", {}).is_normalised);
  EXPECT_EQ(read_with("bert", {}).longest, 0);
  const Pooling of_numbers[] = {Pooling::none, Pooling::mean, Pooling::first, Pooling::last};
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(read_with("bert", {{"bert.pooling_type", i}}).pooling, of_numbers[i]);
    EXPECT_EQ(read_with("qwen3", {{"qwen3.pooling_type", i}}).pooling, of_numbers[i]);
  }
  for (const Pooling pooling : kPoolings) {
    const std::string name(pooling_name(pooling));
    EXPECT_EQ(read_with("bert", {{"bert.embedding.pooling", name}}).pooling, pooling);
  }
  const auto refusal = [](const GgufEntry& entry) {
    return error_of(ErrorCode::unsupported, [&] { static_cast<void>(read_with("bert", {entry})); });
  };
  EXPECT_TRUE(contains(refusal({"bert.pooling_type", std::uint32_t{4}}), "ranks pairs of texts"));
  EXPECT_TRUE(contains(refusal({"bert.pooling_type", std::uint32_t{5}}), "unknown pooling; got 5"));
  EXPECT_TRUE(
      contains(refusal({"bert.embedding.pooling", "best"}), "unknown pooling; got \"best\""));
}

// A folder of a golden model as sentence-transformers saves one.
class SentenceFolder : public ::testing::Test {
 protected:
  SentenceFolder() {
    testing::write_model_folder(testing::read_golden_model("bert"), folder_.path());
    write("modules.json", kModules);
    write("1_Pooling/config.json", R"({"pooling_mode_cls_token": true,
                                       "pooling_mode_mean_tokens": false})");
    write("sentence_bert_config.json", R"({"max_seq_length": 6, "do_lower_case": false})");
    write("tokenizer.json", kTokenizer);
  }

  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }

  TextVectorConfig read() const {
    const ModelContents files = read_model_contents(folder_.path().string());
    return read_config(files.contents.metadata, files.kind).vectors;
  }
  std::string refused(ErrorCode code) const {
    return error_of(code, [&] { static_cast<void>(read()); });
  }

  static constexpr const char* kModules = R"([
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}
  ])";
  static constexpr const char* kTokenizer = R"({
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "max_input_chars_per_word": 100,
              "continuing_subword_prefix": "##", "vocab": {
      "[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "play": 4, "##ing": 5, "##s": 6, ",": 7}},
    "added_tokens": [
        {"id": 2, "content": "[CLS]", "special": true},
        {"id": 3, "content": "[SEP]", "special": true}],
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                   "strip_accents": null, "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 3]}})";
  TemporaryFolder folder_;
};

TEST_F(SentenceFolder, SaysHowRowsBecomeVectors) {
  TextVectorConfig vectors = read();
  EXPECT_EQ(vectors.pooling, Pooling::first);
  EXPECT_TRUE(vectors.is_normalised);
  EXPECT_EQ(vectors.longest, 6);
  EXPECT_EQ(vectors.prompt, "");
  for (const Pooling pooling : kPoolings) {
    const std::string name(pooling_name(pooling));
    write("1_Pooling/config.json", R"({"pooling_mode": ")" + name + R"("})");
    EXPECT_EQ(read().pooling, pooling) << name;
    const std::string ending = pooling == Pooling::last        ? ""
                               : pooling == Pooling::first     ? "_token"
                               : pooling == Pooling::root_mean ? ""
                                                               : "_tokens";
    write("1_Pooling/config.json", R"({"pooling_mode_)" + name + ending + R"(": true})");
    EXPECT_EQ(read().pooling, pooling) << name;
  }
  write("1_Pooling/config.json", R"({"word_embedding_dimension": 32})");
  EXPECT_EQ(read().pooling, Pooling::mean);
  write("modules.json", R"([{"type": "x.Transformer"}, {"path": "1_Pooling", "type": "Pooling"}])");
  write("sentence_bert_config.json", R"({"max_seq_length": null})");
  write("config_sentence_transformers.json",
        R"({"prompts": {"query": "find: ", "passage": ""}, "default_prompt_name": "query"})");
  vectors = read();
  EXPECT_FALSE(vectors.is_normalised);
  EXPECT_EQ(vectors.longest, 0);
  EXPECT_EQ(vectors.prompt, "find: ");
  std::filesystem::remove(folder_.path() / "modules.json");
  EXPECT_TRUE(read().is_normalised);
}

TEST_F(SentenceFolder, RefusesWhatItCannotFollow) {
  const auto expect = [&](ErrorCode code, const std::string& part) {
    const std::string error = refused(code);
    EXPECT_TRUE(contains(error, part)) << error;
  };
  write("sentence_bert_config.json", R"({"max_seq_length": -1})");
  expect(ErrorCode::corrupt_file, "max_seq_length is out of range");
  write("sentence_bert_config.json", R"({"do_lower_case": true})");
  expect(ErrorCode::unsupported, "small letters");
  write("sentence_bert_config.json", "{");
  expect(ErrorCode::corrupt_file, "no JSON");
  write("sentence_bert_config.json", "{}");
  write("1_Pooling/config.json",
        R"({"pooling_mode_cls_token": true, "pooling_mode_max_tokens": true})");
  expect(ErrorCode::unsupported, "several poolings");
  write("1_Pooling/config.json", R"({"pooling_mode_cls_token": false})");
  expect(ErrorCode::unsupported, "every flag false");
  write("1_Pooling/config.json", R"({"pooling_mode": "best"})");
  expect(ErrorCode::unsupported, "unknown pooling");
  std::filesystem::remove(folder_.path() / "1_Pooling/config.json");
  expect(ErrorCode::corrupt_file, "without its config.json");
  write("modules.json", R"([{"path": "../else", "type": "a.Pooling"}])");
  expect(ErrorCode::corrupt_file, "no name of a folder within");
  write("modules.json", R"([{"path": "", "type": "sentence_transformers.models.Dense"}])");
  expect(ErrorCode::unsupported, "unknown module; got \"sentence_transformers.models.Dense\"");
  write("modules.json", "[]");
  expect(ErrorCode::unsupported, "no pooling");
  write("modules.json", "{}");
  expect(ErrorCode::corrupt_file, "no modules");
  write("modules.json", R"([{"path": ""}])");
  expect(ErrorCode::corrupt_file, "type is missing");
}

// What transformers' tokenizer gives with truncation to 6 tokens.
TEST_F(SentenceFolder, LongTextsAreCutAndKeepTheirEnd) {
  const LoadedModel loaded = load_language_model(folder_.path().string());
  const auto tokens = [&](const char* text) {
    return tokens_of_text(loaded.tokenizer, loaded.model, text);
  };
  using Tokens = std::vector<std::int32_t>;
  EXPECT_EQ(tokens("playing"), (Tokens{2, 4, 5, 3}));
  EXPECT_EQ(tokens("plays, play"), (Tokens{2, 4, 6, 7, 4, 3}));
  EXPECT_EQ(tokens("plays, playing, playing"), (Tokens{2, 4, 6, 7, 4, 3}));
  EXPECT_EQ(tokens(""), (Tokens{2, 3}));
}

TEST_F(SentenceFolder, TextsThatAreTooLongFailAlone) {
  std::filesystem::remove(folder_.path() / "modules.json");
  const LoadedModel loaded = load_language_model(folder_.path().string());
  std::string text = "play";
  for (std::int64_t i = 0; i < longest_vector_text(loaded.model); ++i) text += " play";
  const std::vector<std::int32_t> tokens = tokens_of_text(loaded.tokenizer, loaded.model, text);
  EXPECT_TRUE(contains(
      error_of(ErrorCode::invalid_argument, [&] { require_vector_text(loaded.model, tokens); }),
      "longer than the context"));
  EXPECT_TRUE(contains(
      error_of(ErrorCode::invalid_argument, [&] { require_vector_text(loaded.model, {}); }),
      "without tokens"));
}

}  // namespace
}  // namespace hearth::models
