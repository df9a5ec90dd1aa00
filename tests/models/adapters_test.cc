// Low-rank adapters: files of PEFT and of GGUF, what models make of them, and pairs to be trained.
#include "models/adapters/adapter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "error_text.h"
#include "hearth/grad.h"
#include "hearth/io.h"
#include "hearth/ops.h"
#include "hearth/optim.h"
#include "hearth/quantization/packed.h"
#include "models/adapters/new_adapter.h"
#include "models/adapters/save_adapter.h"
#include "models/golden_language_model.h"
#include "models/golden_model.h"
#include "models/language/folder/file_layout.h"
#include "models/language/folder/tensor_rules.h"
#include "models/language/model/sequences.h"
#include "models/language/model/text_loss.h"
#include "models/loading/load_model.h"
#include "models/quantize/quantize_file.h"

namespace hearth::models {
namespace {

using check::error_of;
using testing::GoldenAdapter;
using testing::GoldenModel;
using testing::GoldenPrompt;
using testing::TemporaryFolder;

constexpr double kMostError = 1e-11;

// The model's files, as a folder or as the GGUF file that it becomes.
ModelContents contents_of(const GoldenModel& golden, FileKind kind) {
  ModelContents files;
  files.kind = kind;
  files.contents = gguf_of_folder(golden.config, testing::golden_weights(golden));
  if (kind == FileKind::gguf) lay_out_as_file(files.contents);
  return files;
}

LanguageModel adapted_model(const ModelContents& files, const std::vector<AdapterFile>& adapters,
                            DType compute = DType::f32) {
  return make_language_model(files, {.compute = compute, .adapters = adapters});
}

std::vector<double> scores_of_prompt(const LanguageModel& model, const GoldenPrompt& prompt) {
  Sequences sequences(model, {.pages = 8, .page_size = 16});
  Sequence sequence = sequences.begin();
  const std::vector<std::int32_t> tokens(prompt.tokens.begin(), prompt.tokens.end());
  const SequenceRows rows{&sequence, tokens,
                          static_cast<std::int64_t>(tokens.size()) - prompt.first};
  return cast(sequences.step({&rows, 1}), DType::f64).to_vector<double>();
}

double worst_error(const LanguageModel& model, const GoldenModel& golden) {
  double worst = 0;
  for (const GoldenPrompt& prompt : golden.prompts) {
    const double error = testing::normalized_error(scores_of_prompt(model, prompt), prompt);
    worst = std::isnan(error) ? error : std::max(worst, error);
  }
  return worst;
}

class PeftAdapters : public ::testing::TestWithParam<std::string> {};

TEST_P(PeftAdapters, GiveTheScoresOfTransformers) {
  const GoldenAdapter golden = testing::read_golden_adapter(GetParam());
  for (const FileKind kind : {FileKind::folder, FileKind::gguf}) {
    const ModelContents files = contents_of(golden.model, kind);
    EXPECT_LE(worst_error(adapted_model(files, {{golden.folder}}), golden.model), kMostError);
    // It matters, and so does its scale: a half and a half are one.
    EXPECT_GE(worst_error(adapted_model(files, {}), golden.model), 1e-3);
    const LanguageModel halves = adapted_model(files, {{golden.folder, 0.5}, {golden.folder, 0.5}});
    EXPECT_LE(worst_error(halves, golden.model), kMostError);
  }
}

// Where llama.cpp's converter has made a file of the folder, it is the same adapter.
TEST(GgufAdapters, AreThoseOfTheirFolders) {
  int files = 0;
  for (const std::string& name : testing::golden_adapter_names()) {
    const GoldenAdapter golden = testing::read_golden_adapter(name);
    const std::string converted = golden.folder + "/llama_cpp.gguf";
    if (!std::filesystem::exists(converted)) continue;
    ++files;
    for (const FileKind kind : {FileKind::folder, FileKind::gguf}) {
      const ModelContents model = contents_of(golden.model, kind);
      EXPECT_LE(worst_error(adapted_model(model, {{converted}}), golden.model), kMostError) << name;
    }
  }
  EXPECT_GE(files, 2);
}

// What is written of it, by a model of a folder or of a file, for a model of either.
TEST_P(PeftAdapters, AreTheSameWrittenAnew) {
  const GoldenAdapter golden = testing::read_golden_adapter(GetParam());
  const TemporaryFolder folder;
  for (const FileKind writer : {FileKind::folder, FileKind::gguf}) {
    const ModelContents of_writer = contents_of(golden.model, writer);
    const LanguageConfig config = read_config(of_writer.contents.metadata, writer);
    const AdaptedModel model{of_writer.contents.metadata, config, writer};
    Adapter adapter = adapter_of(read_adapter(golden.folder), model);
    // Scales differ by pair, which files of ours have one alpha for.
    std::int64_t rank = 0;
    for (auto& [name, pair] : adapter) {
      pair->b = pair->b * pair->scale;
      rank = pair->rank();
    }
    const AdapterFacts facts{rank, static_cast<double>(rank), "base"};
    save_adapter_file(folder / "adapter.gguf", adapter, facts, model);
    std::vector<std::string> paths = {folder / "adapter.gguf"};
    if (has_folder_names(adapter, model)) {
      save_adapter_folder(folder / "peft", adapter, facts, model);
      paths.push_back(folder / "peft");
    } else {
      EXPECT_EQ(GetParam(), "gpt_neox");  // whose folders order rows by head
      EXPECT_NE(error_of([&] {
                  save_adapter_folder(folder / "peft", adapter, facts, model);
                }).find("no name"),
                std::string::npos);
    }
    for (const FileKind reader : {FileKind::folder, FileKind::gguf}) {
      for (const std::string& path : paths) {
        const LanguageModel again = adapted_model(contents_of(golden.model, reader), {{path}});
        EXPECT_LE(worst_error(again, golden.model), kMostError) << path;
      }
    }
  }
}

// Weights that an adapter has become part of give what both do.
TEST_P(PeftAdapters, BecomePartOfWeights) {
  const GoldenAdapter golden = testing::read_golden_adapter(GetParam());
  const TemporaryFolder folder;
  const ModelContents files = contents_of(golden.model, FileKind::gguf);
  save_gguf(folder / "base.gguf", files.contents.arrays, files.contents.metadata);
  QuantizeOptions options;
  options.type = quantize_type_from_name("keep");
  options.adapters = {{golden.folder}};
  quantize_file(folder / "base.gguf", folder / "merged.gguf", options);
  const LanguageModel merged = make_language_model(read_model_contents(folder / "merged.gguf"));
  EXPECT_LE(worst_error(merged, golden.model), kMostError);
  const auto fault = [&] {
    return error_of([&] { quantize_file(folder / "base.gguf", folder / "x.gguf", options); });
  };
  options.adapters = {{folder / "base.gguf"}};
  EXPECT_NE(fault(), "");
  options.adapters = {{golden.folder, 3e38}};
  options.type = quantize_type_from_name("f16");
  const std::string beyond = fault();
  EXPECT_TRUE(check::contains(beyond, "quantize: a weight ")) << beyond;
  EXPECT_TRUE(check::contains(beyond, " with its adapters, expected ")) << beyond;
  EXPECT_FALSE(std::filesystem::exists(folder / "x.gguf"));
}

INSTANTIATE_TEST_SUITE_P(Families, PeftAdapters,
                         ::testing::ValuesIn(testing::golden_adapter_names()),
                         [](const auto& tested) { return tested.param; });

// ---- Files that are not what they should be

class AdapterFiles : public ::testing::Test {
 protected:
  AdapterFiles() : golden_(testing::read_golden_adapter("llama")) {
    std::filesystem::create_directories(folder_.path() / "x");
    for (const char* name : {"adapter_config.json", "adapter_model.safetensors"}) {
      std::filesystem::copy_file(golden_.folder + "/" + name, folder_ / ("x/" + std::string(name)));
    }
  }

  void write_config(const std::string& text) {
    std::ofstream(folder_ / "x/adapter_config.json") << text;
  }
  void write_tensors(const NamedArrays& arrays) {
    save_safetensors(folder_ / "x/adapter_model.safetensors", arrays);
  }
  std::string folder_error() {
    return error_of([&] { read_adapter(folder_ / "x"); });
  }
  std::string gguf_error(const NamedArrays& arrays, const GgufMetadata& metadata) {
    save_gguf(folder_ / "x.gguf", arrays, metadata);
    return error_of([&] {
      adapted_model(contents_of(golden_.model, FileKind::folder), {{folder_ / "x.gguf"}});
    });
  }
  static GgufMetadata lora_metadata() {
    return {{"general.architecture", "llama"},
            {"general.type", "adapter"},
            {"adapter.type", "lora"},
            {"adapter.lora.alpha", 4.0F}};
  }
  static bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  GoldenAdapter golden_;
  TemporaryFolder folder_;
};

TEST_F(AdapterFiles, RefusesConfigurationsOfOtherKinds) {
  EXPECT_TRUE(is_adapter_folder(folder_ / "x"));
  EXPECT_FALSE(is_adapter_folder(folder_.path().string()));
  for (const auto& [config, part] : std::vector<std::pair<std::string, std::string>>{
           {"{", "not a configuration"},
           {"[]", "not a configuration"},
           {"{}", "peft_type"},
           {R"({"peft_type": "IA3"})", "expected LORA"},
           {R"({"peft_type": "LORA"})", "lora_alpha is missing"},
           {R"({"peft_type": "LORA", "lora_alpha": "x"})", "lora_alpha"},
           {R"({"peft_type": "LORA", "lora_alpha": 1, "bias": "all"})", "biases"},
           {R"({"peft_type": "LORA", "lora_alpha": 1, "use_dora": true})", "use_dora"},
           {R"({"peft_type": "LORA", "lora_alpha": 1, "modules_to_save": ["lm_head"]})",
            "modules_to_save"},
           {R"({"peft_type": "LORA", "lora_alpha": 1, "alpha_pattern": {"a.*": 1}})",
            "alpha_pattern"},
           {R"({"peft_type": "LORA", "lora_alpha": 1, "r": 4, "rank_pattern": {"a.*": 1}})",
            "a pattern in rank_pattern"},
           {R"({"peft_type": "LORA", "lora_alpha": NaN})", "lora_alpha is not finite"},
           {R"({"peft_type": "LORA", "lora_alpha": 1, "r": "4"})", "r is of the wrong type"},
       }) {
    write_config(config);
    EXPECT_TRUE(says(folder_error(), part)) << config << ": " << folder_error();
  }
}

TEST_F(AdapterFiles, NamesTheFileOfValuesOfTheWrongType) {
  const std::string file = (folder_ / "x") + ": adapter: adapter_config.json: ";
  for (const auto& [config, message] : std::vector<std::pair<std::string, std::string>>{
           {R"({"peft_type": 1})", "peft_type is of the wrong type; got 1, expected a text"},
           {R"({"peft_type": "LORA", "lora_alpha": "x"})",
            R"(lora_alpha is of the wrong type; got "x", expected a number)"},
           {R"({"peft_type": "LORA", "lora_alpha": 1, "use_rslora": 1})",
            "use_rslora is of the wrong type; got 1, expected true or false"},
           {R"({"peft_type": "LORA", "lora_alpha": 1, "alpha_pattern": {"q_proj": true}})",
            R"(alpha_pattern of "q_proj" is of the wrong type; got true, expected a number)"},
       }) {
    write_config(config);
    EXPECT_EQ(error_of(ErrorCode::corrupt_file, [&] { read_adapter(folder_ / "x"); }),
              file + message);
  }
}

TEST_F(AdapterFiles, RefusesRanksThatTheTensorsDoNotHave) {
  const std::string module = "base_model.model.model.layers.0.self_attn.q_proj.";
  const auto write = [&](const std::string& ranks) {
    write_config(R"({"peft_type": "LORA", "lora_alpha": 1, )" + ranks + "}");
    write_tensors(
        {{module + "lora_A.weight", ones({4, 48})}, {module + "lora_B.weight", ones({64, 4})}});
  };
  for (const char* ranks : {R"("r": 8)", R"("r": 4, "rank_pattern": {"q_proj": 2})", R"("r": -1)",
                            R"("r": 1e12)", R"("r": 4.5)"}) {
    write(ranks);
    EXPECT_TRUE(says(folder_error(), "has another rank than adapter_config.json says; got 4"))
        << ranks << ": " << folder_error();
  }
  for (const char* ranks :
       {R"("r": 4)", R"("r": 8, "rank_pattern": {"q_proj": 4})", R"("use_rslora": false)"}) {
    write(ranks);
    EXPECT_NO_THROW(read_adapter(folder_ / "x")) << ranks;
  }
}

TEST_F(AdapterFiles, RefusesTensorsThatAreNoPairs) {
  const std::string module = "base_model.model.model.layers.0.self_attn.q_proj.";
  const auto of = [](const Shape& shape) { return ones(shape); };
  write_tensors({});
  EXPECT_TRUE(says(folder_error(), "nothing in it")) << folder_error();
  write_tensors({{module + "lora_A.weight", of({4, 48})}});
  EXPECT_TRUE(says(folder_error(), "its matrix A alone")) << folder_error();
  write_tensors({{module + "lora_A.weight", of({4, 48})}, {module + "lora_B.weight", of({64, 3})}});
  EXPECT_TRUE(says(folder_error(), "does not fit together")) << folder_error();
  write_tensors({{module + "lora_A.weight", of({48})}});
  EXPECT_TRUE(says(folder_error(), "is no matrix")) << folder_error();
  write_tensors({{module + "lora_A.weight", zeros({4, 48}, DType::i32)}});
  EXPECT_TRUE(says(folder_error(), "holds no floats")) << folder_error();
  write_tensors({{module + "lora_magnitude_vector", of({48})}});
  EXPECT_TRUE(says(folder_error(), "another kind")) << folder_error();
  std::filesystem::resize_file(folder_ / "x/adapter_model.safetensors", 20);
  EXPECT_FALSE(folder_error().empty());
  std::filesystem::remove(folder_ / "x/adapter_model.safetensors");
  EXPECT_FALSE(folder_error().empty());
}

TEST_F(AdapterFiles, RefusesWhatTheModelDoesNotHave) {
  const ModelContents files = contents_of(golden_.model, FileKind::folder);
  const auto error_with = [&](const std::string& module, const Shape& a, const Shape& b) {
    write_tensors({{"base_model.model." + module + ".lora_A.weight", ones(a)},
                   {"base_model.model." + module + ".lora_B.weight", ones(b)}});
    return error_of([&] { adapted_model(files, {{folder_ / "x"}}); });
  };
  EXPECT_TRUE(says(error_with("model.layers.0.nothing", {4, 48}, {64, 4}), "does not have"));
  EXPECT_TRUE(says(error_with("model.layers.7.self_attn.q_proj", {4, 48}, {64, 4}),
                   "a product that the model does not have"));
  EXPECT_TRUE(
      says(error_with("model.layers.0.self_attn.q_proj", {4, 40}, {64, 4}), "does not fit"));
  EXPECT_TRUE(
      says(error_with("model.layers.0.self_attn.q_proj", {4, 48}, {60, 4}), "does not fit"));
  EXPECT_FALSE(error_of([&] { adapted_model(files, {{folder_ / "none"}}); }).empty());
  EXPECT_TRUE(says(error_of([&] { adapted_model(files, {{golden_.folder, NAN}}); }), "scale"));
}

// The adapter is at fault, so it is named and not the model's file.
TEST_F(AdapterFiles, SaysWhatAnAdapterOfAnotherModelWasMadeFor) {
  const ModelContents model = contents_of(golden_.model, FileKind::gguf);
  save_gguf(folder_ / "model.gguf", model.contents.arrays, model.contents.metadata);
  const auto error_with = [&](const std::string& adapter) {
    return error_of(
        [&] { load_language_model(folder_ / "model.gguf", {.adapters = {{adapter}}}); });
  };
  const std::string of_model = " of llama with 2 layers of 48 columns";
  const std::string gpt2 = testing::read_golden_adapter("gpt2").folder;
  EXPECT_EQ(
      error_with(gpt2),
      gpt2 +
          ": adapter: a module that the model does not have; got "
          "\"transformer.h.0.attn.c_attn\" of an adapter for \"gpt2\" with modules \"c_proj\", "
          "\"c_fc\", \"c_attn\", expected those" +
          of_model);

  const std::string module = "model.layers.0.self_attn.q_proj";
  const auto write_pair = [&](const Shape& a, const Shape& b) {
    write_tensors({{"base_model.model." + module + ".lora_A.weight", ones(a)},
                   {"base_model.model." + module + ".lora_B.weight", ones(b)}});
  };
  write_config(R"({"peft_type": "LORA", "lora_alpha": 1, "base_model_name_or_path": "a/b",
                   "target_modules": ".*_proj"})");
  const std::string origin = R"( of an adapter for "a/b" with modules ".*_proj", expected )";
  write_pair({4, 48}, {60, 4});
  EXPECT_EQ(error_with(folder_ / "x"), (folder_ / "x") + ": adapter: \"" + module +
                                           "\" does not fit; got B [60, 4]" + origin + "the rows" +
                                           of_model);
  write_pair({4, 40}, {64, 4});
  EXPECT_EQ(error_with(folder_ / "x"),
            (folder_ / "x") +
                ": adapter: \"blk.0.attn_q\" does not fit; got A [4, 40] and B [64, 4]" + origin +
                "48 columns and 64 rows" + of_model);
  save_gguf(folder_ / "x.gguf",
            {{"blk.7.attn_q.weight.lora_a", ones({4, 48})},
             {"blk.7.attn_q.weight.lora_b", ones({64, 4})}},
            {{"general.architecture", "llama"},
             {"general.type", "adapter"},
             {"adapter.type", "lora"},
             {"general.base_model.0.name", "c"}});
  EXPECT_EQ(error_with(folder_ / "x.gguf"),
            (folder_ / "x.gguf") +
                ": adapter: for a product that the model does not have; got \"blk.7.attn_q\" of an "
                "adapter for \"c\", expected names of projections" +
                of_model);
}

TEST_F(AdapterFiles, RefusesFilesOfGgufThatAreNoAdapters) {
  const NamedArrays pair = {{"blk.0.attn_q.weight.lora_a", ones({4, 48})},
                            {"blk.0.attn_q.weight.lora_b", ones({64, 4})}};
  save_gguf(folder_ / "fine.gguf", pair, lora_metadata());
  EXPECT_NO_THROW(
      adapted_model(contents_of(golden_.model, FileKind::folder), {{folder_ / "fine.gguf"}}));
  for (const std::string& path : {folder_ / "fine.gguf", folder_ / "x"}) {
    EXPECT_TRUE(is_adapter(path));
    EXPECT_TRUE(
        says(error_of([&] { read_model_contents(path); }), "this is an adapter, not a model; got "))
        << path;
  }
  EXPECT_FALSE(is_adapter(folder_ / "none"));
  save_gguf(folder_ / "model.gguf", {}, {{"general.type", "model"}});
  EXPECT_FALSE(is_adapter(folder_ / "model.gguf"));
  EXPECT_TRUE(says(gguf_error(pair, {{"general.architecture", "llama"}}), "another kind of file"));
  GgufMetadata other = lora_metadata();
  other.set("general.architecture", "qwen3");
  EXPECT_TRUE(says(gguf_error(pair, other), "of another family"));
  EXPECT_TRUE(says(gguf_error({pair[0]}, lora_metadata()), "alone"));
  EXPECT_TRUE(
      says(gguf_error({{"blk.0.attn_q.weight", ones({4, 4})}}, lora_metadata()), "another kind"));
  EXPECT_TRUE(says(gguf_error({{"blk.0.attn_q.weight.lora_a", ones({4, 48})},
                               {"blk.0.attn_q.weight.lora_b", ones({60, 4})}},
                              lora_metadata()),
                   "does not fit"));
}

// ---- Pairs to be trained

TEST(NewAdapters, ChooseLayersByName) {
  const GoldenModel golden = testing::read_golden_model("llama");
  const ModelContents files = contents_of(golden, FileKind::folder);
  const auto count = [&](const std::string& layers) {
    NewAdapter adapter({.rank = 2, .layers = layers});
    make_language_model(files, {.low_rank = adapter.finder()});
    EXPECT_EQ(adapter.parameters().size(), 2 * adapter.adapter().size());
    return adapter.adapter().size();
  };
  EXPECT_EQ(count("attention"), 8u);  // of two layers
  EXPECT_EQ(count("all"), 14u);
  EXPECT_EQ(count("blk.1.ffn_(up|down)"), 2u);
  const std::string none = error_of([&] { count("q_proj"); });
  EXPECT_NE(none.find("no layers to train; got \"q_proj\""), std::string::npos) << none;
  EXPECT_NE(
      none.find("layers have attn_k, attn_output, attn_q, attn_v, ffn_down, ffn_gate, ffn_up"),
      std::string::npos)
      << none;
  EXPECT_NE(error_of([&] { count("("); }).find("no regular expression"), std::string::npos);
  EXPECT_NE(error_of([&] { NewAdapter({.rank = 0}); }).find("out of range"), std::string::npos);
  EXPECT_NE(error_of([&] { NewAdapter({.alpha = 0}); }).find("out of range"), std::string::npos);
}

// Modules that a folder does not have are nothing to other readers of the pairs.
TEST(NewAdapters, NameModulesAsTheFoldersOfTheirModels) {
  int modules = 0;
  for (const std::string& model_name : testing::golden_model_names()) {
    const GoldenModel golden = testing::read_golden_model(model_name);
    std::set<std::string> of_folder;
    for (const testing::GoldenTensor& tensor : golden.tensors) {
      of_folder.insert(text_name(tensor.name));
    }
    for (const FileKind kind : {FileKind::folder, FileKind::gguf}) {
      const ModelContents files = contents_of(golden, kind);
      const LanguageConfig config = read_config(files.contents.metadata, kind);
      if (!config.gives_scores()) continue;
      const AdaptedModel model{files.contents.metadata, config, kind};
      NewAdapter adapter({.rank = 1, .layers = "all"});
      make_language_model(files, {.low_rank = adapter.finder()});
      for (const auto& [name, pair] : adapter.adapter()) {
        const std::optional<FolderPair> in_folder = folder_pair(name, pair->b, model);
        if (!in_folder) continue;
        EXPECT_TRUE(of_folder.contains(in_folder->name + ".weight"))
            << model_name << ": " << name << " as " << in_folder->name;
        ++modules;
      }
    }
  }
  EXPECT_GE(modules, 500);
}

// A model of the family llama with matrices of blocks, and its twin of what they stand for.
GgufContents packed_llama(DType dtype) {
  GgufContents contents;
  contents.metadata = {{"general.architecture", "llama"},
                       {"llama.context_length", std::uint32_t{64}},
                       {"llama.embedding_length", std::uint32_t{64}},
                       {"llama.block_count", std::uint32_t{2}},
                       {"llama.feed_forward_length", std::uint32_t{96}},
                       {"llama.attention.head_count", std::uint32_t{4}},
                       {"llama.attention.head_count_kv", std::uint32_t{2}},
                       {"llama.attention.layer_norm_rms_epsilon", 1e-5F}};
  Generator generator(5);
  const auto matrix = [&](const std::string& name, std::int64_t out, std::int64_t in) {
    const double most = std::sqrt(3.0 / static_cast<double>(in));
    contents.arrays.push_back(
        {name + ".weight",
         quantize(random_uniform({out, in}, -most, most, DType::f32, Device(), &generator),
                  dtype)});
  };
  const auto norm = [&](const std::string& name) {
    contents.arrays.push_back({name + ".weight", ones({64})});
  };
  matrix("token_embd", 50, 64);
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    norm(layer + "attn_norm");
    norm(layer + "ffn_norm");
    matrix(layer + "attn_q", 64, 64);
    matrix(layer + "attn_k", 32, 64);
    matrix(layer + "attn_v", 32, 64);
    matrix(layer + "attn_output", 64, 64);
    matrix(layer + "ffn_gate", 96, 64);
    matrix(layer + "ffn_up", 96, 64);
    matrix(layer + "ffn_down", 64, 96);
  }
  norm("output_norm");
  return contents;
}

struct TrainedTwin {
  TrainedTwin(const ModelContents& files, DType compute, DType dtype)
      : generator(11),
        adapter({.rank = 4, .layers = "all", .dtype = dtype, .generator = &generator}),
        model(make_language_model(files, {.compute = compute, .low_rank = adapter.finder()})) {}

  Generator generator;
  NewAdapter adapter;
  LanguageModel model;
};

const Array& small_tokens() {
  static const Array tokens =
      Array::from_data(std::vector<std::int32_t>{7, 3, 21, 40, 7, 3, 21, 40, 9, 9, 13, 2}, {2, 6});
  return tokens;
}
const Array& small_targets() {
  static const Array targets =
      Array::from_data(std::vector<std::int32_t>{3, 21, 40, 7, 3, 21, 9, 9, 13, 2, 7, 11}, {2, 6});
  return targets;
}

// b is not zeros any more, so that both matrices have gradients.
void fill(std::vector<Parameter> parameters, DType dtype) {
  Generator generator(3);
  for (const Parameter& each : parameters) {
    const Array values =
        random_uniform(each.array->shape(), -0.1, 0.1, DType::f64, Device(), &generator);
    *each.array = cast(values, dtype).require_grad();
  }
}

TEST(NewAdapters, GradientsOfPackedModelsAreThoseOfTheirTwins) {
  const ModelContents files{.contents = packed_llama(DType::q8_0), .tokenizer = ""};
  TrainedTwin packed(files, DType::f32, DType::f32);
  TrainedTwin exact(files, DType::f64, DType::f64);
  fill(packed.adapter.parameters(), DType::f32);
  fill(exact.adapter.parameters(), DType::f64);
  const Gradients of_packed = backward(text_loss(packed.model, small_tokens(), small_targets()));
  const Gradients of_exact = backward(text_loss(exact.model, small_tokens(), small_targets()));
  const std::vector<Parameter> a = packed.adapter.parameters(), b = exact.adapter.parameters();
  ASSERT_EQ(a.size(), 28u);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::vector<double> got = cast(of_packed.at(*a[i].array), DType::f64).to_vector<double>();
    const std::vector<double> expected = of_exact.at(*b[i].array).to_vector<double>();
    double error = 0, size = 0;
    for (std::size_t j = 0; j < got.size(); ++j) {
      error += (got[j] - expected[j]) * (got[j] - expected[j]);
      size += expected[j] * expected[j];
    }
    // Products with blocks round rows to eight bits.
    EXPECT_LE(std::sqrt(error / size), 0.05) << a[i].name;
    EXPECT_GT(size, 0) << a[i].name;
  }
}

TEST(NewAdapters, LearnATextAndAreTheSameReadBack) {
  const ModelContents files{.contents = packed_llama(DType::q4_0), .tokenizer = ""};
  TrainedTwin twin(files, DType::f32, DType::f32);
  const LanguageModel base = make_language_model(files);
  const auto loss_now = [&](const LanguageModel& model) {
    const NoGrad no_grad;
    return text_loss(model, small_tokens(), small_targets()).item();
  };
  const double before = loss_now(base);
  EXPECT_EQ(loss_now(twin.model), before);  // b is zeros
  optim::AdamW optimizer;
  for (int step = 0; step < 60; ++step) {
    Gradients gradients = backward(text_loss(twin.model, small_tokens(), small_targets()));
    optimizer.step(twin.adapter.parameters(), std::move(gradients), 2e-2);
  }
  const double after = loss_now(twin.model);
  EXPECT_LT(after, before - 1);
  EXPECT_EQ(loss_now(base), before);

  const TemporaryFolder folder;
  const LanguageConfig config = read_config(files.contents.metadata, FileKind::gguf);
  const AdaptedModel model{files.contents.metadata, config, FileKind::gguf};
  const AdapterFacts facts{4, 16, "base"};
  save_adapter_file(folder / "adapter.gguf", twin.adapter.adapter(), facts, model);
  save_adapter_folder(folder / "adapter", twin.adapter.adapter(), facts, model);
  for (const std::string& path : {folder / "adapter.gguf", folder / "adapter"}) {
    EXPECT_EQ(loss_now(adapted_model(files, {{path}})), after) << path;
  }
}

}  // namespace
}  // namespace hearth::models
