#include "tools/lm/sampling_options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <memory>
#include <set>
#include <sstream>
#include <variant>

#include "core/number_text.h"
#include "hearth/error.h"
#include "models/grammar/grammar.h"
#include "models/sampling/recommended_sampling.h"
#include "models/sampling/sampling_fields.h"
#include "models/tokenizer/byte_tokenizer.h"
#include "models/tokenizer/from_gguf.h"
#include "models/tokenizer/from_json.h"
#include "source_dir.h"
#include "tool_folder.h"
#include "tools/command_line.h"

namespace hearth::tools {
namespace {

// What the options of a command line are for a model of bytes.
struct Parsed {
  CommandLine line{"hearth", "Test", "0"};
  SamplingArguments arguments;
};

std::unique_ptr<Parsed> parsed(std::vector<std::string> words) {
  auto made = std::make_unique<Parsed>();
  made->arguments.values.temperature = 0.8;
  Command command = made->line.add_command("write", "Test");
  add_sampling_options(command, made->arguments);
  command.action([] {});
  words.insert(words.begin(), {"hearth", "write"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  made->line.run(static_cast<int>(argv.size()), argv.data());
  return made;
}

models::Tokenizer bytes() {
  return models::tokenizer_from_json(models::byte_tokenizer_json(), "bytes");
}

models::SamplingOptions options_of(const std::vector<std::string>& words) {
  return asked_sampling(parsed(words)->arguments, {{}, bytes()}).options;
}

std::shared_ptr<models::grammar::Constraint> constraint_of(const std::vector<std::string>& words) {
  return sampling_constraint(parsed(words)->arguments, bytes());
}

TEST(SamplingArguments, WithoutAnyTheDefaultsOfTheCommandStay) {
  const models::SamplingOptions options = options_of({});
  EXPECT_EQ(options.temperature, 0.8);
  EXPECT_EQ(options.top_k, 0);
  EXPECT_TRUE(options.dry_breakers.empty());
  EXPECT_EQ(options.steps, models::default_sampling_steps());
  EXPECT_EQ(constraint_of({}), nullptr);
}

// What the command line says stands, then what the model's makers say, then the command's defaults.
TEST(SamplingArguments, TheModelsMakersAreAskedBetweenFlagsAndDefaults) {
  models::LoadedModel loaded{{},
                             models::tokenizer_from_gguf(
                                 {{"tokenizer.ggml.model", "llama"},
                                  {"tokenizer.ggml.tokens", std::vector<std::string>{"<unk>", "a"}},
                                  {"tokenizer.ggml.scores", std::vector<float>{0, 0}}},
                                 "test")};
  GgufMetadata said;
  said.set("general.sampling.temp", 0.6);
  said.set("general.sampling.top_k", std::int32_t{20});
  loaded.recommended = models::recommended_sampling(said);
  loaded.recommended.mirostat = models::Mirostat::first;
  const auto given = parsed({"--temperature", "0.8", "--min-p", "0.02"});
  const models::SamplingOptions options = asked_sampling(given->arguments, loaded).options;
  EXPECT_EQ(options.temperature, 0.8);
  EXPECT_EQ(options.top_k, 20);
  EXPECT_EQ(options.min_p, 0.02);
  EXPECT_EQ(options.top_p, 1);
  EXPECT_EQ(options.mirostat, models::Mirostat::first);
  const auto without = parsed({"--mirostat", "0", "--top-k", "0"});
  const models::SamplingOptions others = asked_sampling(without->arguments, loaded).options;
  EXPECT_EQ(others.temperature, 0.6);
  EXPECT_EQ(others.top_k, 0);
  EXPECT_EQ(others.mirostat, models::Mirostat::off);
}

TEST(SamplingArguments, AreOptions) {
  const models::SamplingOptions options = options_of({"--temperature",
                                                      "0.5",
                                                      "--top-k",
                                                      "40",
                                                      "--top-p",
                                                      "0.9",
                                                      "--min-p",
                                                      "0.05",
                                                      "--typical-p",
                                                      "0.8",
                                                      "--top-n-sigma",
                                                      "2",
                                                      "--xtc-probability",
                                                      "0.5",
                                                      "--xtc-threshold",
                                                      "0.2",
                                                      "--repeat-penalty",
                                                      "1.1",
                                                      "--presence-penalty",
                                                      "0.1",
                                                      "--frequency-penalty",
                                                      "0.2",
                                                      "--repeat-last-n",
                                                      "-1",
                                                      "--dynatemp-range",
                                                      "0.3",
                                                      "--dynatemp-exp",
                                                      "2",
                                                      "--mirostat",
                                                      "2",
                                                      "--mirostat-tau",
                                                      "4",
                                                      "--mirostat-eta",
                                                      "0.2",
                                                      "--adaptive-target",
                                                      "0.4",
                                                      "--adaptive-decay",
                                                      "0.5",
                                                      "--logit-bias",
                                                      "65=-1.5",
                                                      "--logit-bias",
                                                      "66=-inf",
                                                      "--logit-bias",
                                                      "67=false",
                                                      "--samplers",
                                                      "temperature;top_k",
                                                      "--seed",
                                                      "9",
                                                      "--dry-multiplier",
                                                      "0.8"});
  EXPECT_EQ(options.temperature, 0.5);
  EXPECT_EQ(options.top_k, 40);
  EXPECT_EQ(options.top_p, 0.9);
  EXPECT_EQ(options.min_p, 0.05);
  EXPECT_EQ(options.typical_p, 0.8);
  EXPECT_EQ(options.top_n_sigma, 2);
  EXPECT_EQ(options.xtc_probability, 0.5);
  EXPECT_EQ(options.xtc_threshold, 0.2);
  EXPECT_EQ(options.repetition_penalty, 1.1);
  EXPECT_EQ(options.presence_penalty, 0.1);
  EXPECT_EQ(options.frequency_penalty, 0.2);
  EXPECT_EQ(options.penalty_last, -1);
  EXPECT_EQ(options.temperature_range, 0.3);
  EXPECT_EQ(options.temperature_exponent, 2);
  EXPECT_EQ(options.mirostat, models::Mirostat::second);
  EXPECT_EQ(options.mirostat_tau, 4);
  EXPECT_EQ(options.mirostat_eta, 0.2);
  EXPECT_EQ(options.adaptive_target, 0.4);
  EXPECT_EQ(options.adaptive_decay, 0.5);
  ASSERT_EQ(options.logit_bias.size(), 3u);
  EXPECT_EQ(options.logit_bias[0].token, 65);
  EXPECT_EQ(options.logit_bias[0].value, -1.5f);
  EXPECT_EQ(options.logit_bias[1].value, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(options.logit_bias[2].value, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(options.steps,
            (std::vector{models::SamplingStep::temperature, models::SamplingStep::top_k}));
  EXPECT_EQ(options.seed, 9u);
  EXPECT_EQ(options.dry_breakers,
            (std::vector<std::vector<std::int32_t>>{{'\n'}, {':'}, {'"'}, {'*'}}));
  models::SamplingOptions without = options;
  without.mirostat = models::Mirostat::off;
  models::check_sampling_options(without, 256);
  try {
    models::check_sampling_options(options, 256);
    ADD_FAILURE() << "adaptive_target beside mirostat";
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("adaptive_target"), std::string::npos) << what;
    EXPECT_NE(what.find("mirostat"), std::string::npos) << what;
  }
}

TEST(SamplingArguments, StepsHaveLlamaCppsNamesAndLetters) {
  using enum models::SamplingStep;
  const struct {
    const char* names;
    std::vector<models::SamplingStep> steps;
  } cases[] = {
      {"penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature",
       {penalties, dry, top_n_sigma, top_k, typical_p, top_p, min_p, xtc, temperature}},
      {"top-k,typical-p,nucleus,min-p,temp", {top_k, typical_p, top_p, min_p, temperature}},
      {"top-n-sigma;typ-p;top-p;adaptive-p", {top_n_sigma, typical_p, top_p, adaptive_p}},
      {"typ", {typical_p}},
      {"typical", {typical_p}},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(options_of({"--samplers", each.names}).steps, each.steps) << each.names;
  }
  for (const char* option : {"--sampling-seq", "--sampler-seq"}) {
    EXPECT_EQ(options_of({option, "edskypmxta"}).steps, models::default_sampling_steps());
    EXPECT_EQ(options_of({option, "tk"}).steps, (std::vector{temperature, top_k}));
    EXPECT_THROW(options_of({option, "kz"}), Error);
    EXPECT_THROW(options_of({option, "k", "--samplers", "top_k"}), Error);
  }
}

TEST(SamplingArguments, BreakersMayBeOthersOrNone) {
  EXPECT_EQ(options_of({"--dry-multiplier", "1", "--dry-sequence-breaker", "ab",
                        "--dry-sequence-breaker", ";"})
                .dry_breakers,
            (std::vector<std::vector<std::int32_t>>{{'a', 'b'}, {';'}}));
  EXPECT_TRUE(
      options_of({"--dry-multiplier", "1", "--dry-sequence-breaker", "none"}).dry_breakers.empty());
}

TEST(SamplingArguments, RefuseWhatCannotBeRead) {
  for (const std::string bad : {"5", "=1", "a=1", "1=", "1=x", "1=2x", "99999999999=1"}) {
    EXPECT_THROW(options_of({"--logit-bias", bad}), Error) << bad;
  }
  EXPECT_EQ(options_of({"--top-k", "-1"}).top_k, -1);
  EXPECT_THROW(options_of({"--samplers", "top_k;heat"}), Error);
  EXPECT_THROW(options_of({"--mirostat", "3"}), std::exception);
  EXPECT_EQ(options_of({"--top-p", "0"}).top_p, 0);
  EXPECT_THROW(options_of({"--top-p", "-0.1"}), std::exception);
  EXPECT_THROW(options_of({"--top-k", "-2"}), std::exception);
  EXPECT_THROW(options_of({"--temperature", "-0.1"}), std::exception);
}

// "0.05"
std::string default_text(const models::SamplingField& field) {
  return std::visit([](auto member) { return number_text(models::SamplingOptions{}.*member); },
                    field.member);
}

// The table of docs/inference.md is that of the fields.
TEST(SamplingFields, AreInTheDocs) {
  std::ifstream file(check::source_dir() / "docs/inference.md");
  std::stringstream page;
  page << file.rdbuf();
  std::string table =
      "| option | field | default | range | what it does |\n| --- | --- | --- | --- | --- |\n";
  for (const models::SamplingField& field : models::sampling_fields()) {
    std::string flags(field.flags);
    for (std::size_t at = flags.find(','); at != std::string::npos; at = flags.find(',', at + 4)) {
      flags.replace(at, 1, "`, `");
    }
    table += "| `" + flags + "` | `" + std::string(field.request) + "` | " + default_text(field) +
             " | " + models::range_text(field) + " | " + std::string(field.summary) + " |\n";
  }
  EXPECT_NE(page.str().find(table), std::string::npos) << "docs/inference.md needs\n" << table;
}

TEST(SamplingFields, HaveDefaultsThatTheyAllow) {
  const models::SamplingOptions plain;
  for (const models::SamplingField& field : models::sampling_fields()) {
    const auto value = [&](auto member) { return static_cast<double>(plain.*member); };
    EXPECT_TRUE(models::allows(field, std::visit(value, field.member))) << field.name;
    EXPECT_FALSE(models::allows(field, field.high * 2)) << field.name;
    EXPECT_FALSE(models::allows(field, std::nan(""))) << field.name;
    EXPECT_EQ(models::allows(field, field.low), !field.excludes_low) << field.name;
  }
}

TEST(SamplingArguments, TheEndsOfRangesAreThoseOfTheFields) {
  for (const models::SamplingField& field : models::sampling_fields()) {
    const std::string flag(field.flags.substr(0, field.flags.find(',')));
    for (const double value : {field.low, field.high}) {
      const std::string text = number_text(value);
      if (!models::allows(field, value)) {
        EXPECT_THROW(options_of({flag, text}), std::exception) << flag << " " << text;
        continue;
      }
      // Flags of whole numbers read no exponents.
      if (std::holds_alternative<std::int64_t models::SamplingOptions::*>(field.member) &&
          value > 1e6) {
        continue;
      }
      const models::SamplingOptions options = options_of({flag, text});
      std::visit([&](auto at) { EXPECT_EQ(static_cast<double>(options.*at), value) << flag; },
                 field.member);
    }
  }
}

TEST(SamplingArguments, ASeedThatIsNotGivenIsDrawn) {
  const auto given = parsed({"--seed", "7"});
  const AskedSampling asked = asked_sampling(given->arguments, {{}, bytes()});
  EXPECT_EQ(asked.options.seed, 7u);
  EXPECT_FALSE(asked.has_drawn_seed);
  EXPECT_EQ(seed_text(asked), "");
  const auto without = parsed({});
  AskedSampling drawn = asked_sampling(without->arguments, {{}, bytes()});
  EXPECT_TRUE(drawn.has_drawn_seed);
  EXPECT_EQ(seed_text(drawn),
            "--seed " + std::to_string(drawn.options.seed) + " draws the same again");
  drawn.options.temperature = 0;
  EXPECT_EQ(seed_text(drawn), "");
  const auto random = parsed({"--seed", "-1"});
  const AskedSampling one = asked_sampling(random->arguments, {{}, bytes()});
  EXPECT_TRUE(one.has_drawn_seed);
  EXPECT_EQ(seed_text(one), "--seed " + std::to_string(one.options.seed) + " draws the same again");
  std::set<std::uint64_t> seeds;
  for (int i = 0; i < 8; ++i) {
    seeds.insert(asked_sampling(random->arguments, {{}, bytes()}).options.seed);
  }
  EXPECT_GT(seeds.size(), 1u);
  EXPECT_EQ(options_of({"--seed", "-2"}).seed, std::uint64_t{0} - 2);
}

class SamplingFiles : public ToolFolder {};

TEST_F(SamplingFiles, HoldGrammars) {
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(path(name)) << text;
    return path(name);
  };
  const std::string gbnf = write("g.gbnf", "root ::= \"x\" [0-9]");
  const std::string schema = write("s.json", R"({"type": "boolean"})");
  const auto allows = [](const std::shared_ptr<models::grammar::Constraint>& constraint, char c) {
    return models::grammar::GrammarMatcher(constraint).allows(static_cast<unsigned char>(c));
  };
  const auto by_gbnf = constraint_of({"--grammar", gbnf});
  EXPECT_TRUE(allows(by_gbnf, 'x'));
  EXPECT_FALSE(allows(by_gbnf, '1'));
  EXPECT_NE(constraint_of({"--grammar-file", gbnf}), nullptr);
  EXPECT_NE(constraint_of({"--grammar", "root ::= \"a\" | \"b\""}), nullptr);
  EXPECT_NE(constraint_of({"-j", " {\"type\": \"integer\"}"}), nullptr);
  const auto by_schema = constraint_of({"--json-schema", schema});
  EXPECT_TRUE(allows(by_schema, 't'));
  EXPECT_FALSE(allows(by_schema, 'x'));
  const auto message = [&](const std::vector<std::string>& words) -> std::string {
    try {
      constraint_of(words);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message({"--grammar", gbnf, "--json-schema", schema}).find("--grammar"),
            std::string::npos);
  EXPECT_NE(message({"--grammar", schema}).find("s.json"), std::string::npos);
  EXPECT_NE(message({"--json-schema", gbnf}).find("g.gbnf"), std::string::npos);
  EXPECT_EQ(message({"--grammar", "root ::= nothing"}).rfind("--grammar: byte 9: ", 0), 0u);
  EXPECT_EQ(message({"--json-schema", "{\"type\": 3}"}).rfind("--json-schema: no type; ", 0), 0u);
  EXPECT_NE(message({"--grammar", path("none")}).find("none"), std::string::npos);
  EXPECT_EQ(message({"--grammar", "root := \"yes\""}),
            "--grammar: neither a file nor a grammar; got \"root := \"yes\"\", which is the "
            "name of no file, and has no ::=, expected a file or rules such as root ::= \"yes\"");
  EXPECT_EQ(message({"--json-schema", "\"type\": \"object\""})
                .rfind("--json-schema: neither a file nor a schema; got ", 0),
            0u);
}

}  // namespace
}  // namespace hearth::tools
