#include "tools/model_bench/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <memory>
#include <random>
#include <span>
#include <utility>

#include "hearth/ops.h"
#include "models/language/model/sequences.h"
#include "models/language/model/text_encoder.h"
#include "models/language/require_scores.h"
#include "models/serving/cache_plan.h"
#include "models/serving/read_text.h"
#include "models/serving/scheduler.h"

namespace hearth::tools {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class TokenDraws {
 public:
  explicit TokenDraws(const models::LanguageModel& model)
      : draws_(0, static_cast<std::int32_t>(model.vocabulary() - 1)) {}

  std::vector<std::int32_t> draw(std::int64_t count) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
    for (std::int32_t& token : tokens) token = draws_(engine_);
    return tokens;
  }

 private:
  std::mt19937 engine_{1};
  std::uniform_int_distribution<std::int32_t> draws_;
};

// Sequences of random tokens over one set of caches.
class ModelRun {
 public:
  ModelRun(const models::LanguageModel& model, const ModelBenchOptions& options)
      : options_(options), sequences_(model, caches_of(model, options)), draws_(model) {}

  double prompt_rate() {
    begin(1);
    fill(options_.depth);
    const double start = seconds_now();
    fill(options_.prompt);
    const double seconds = seconds_now() - start;
    end();
    return static_cast<double>(options_.prompt) / seconds;
  }

  // Of the tokens written and, where they are measured together, those of prompts before them.
  double writing_rate() {
    begin(options_.parallel);
    fill(options_.depth);
    const double start = seconds_now();
    if (options_.together) fill(options_.prompt);
    for (std::int64_t i = 0; i < options_.tokens; ++i) write_tokens();
    const double seconds = seconds_now() - start;
    end();
    const std::int64_t tokens = options_.tokens + (options_.together ? options_.prompt : 0);
    return static_cast<double>(tokens * options_.parallel) / seconds;
  }

 private:
  static models::CacheOptions caches_of(const models::LanguageModel& model,
                                        const ModelBenchOptions& options) {
    const std::int64_t rows =
        options.depth + (options.together ? options.prompt + options.tokens
                                          : std::max(options.prompt, options.tokens));
    return models::cache_options(model.config, model.compute,
                                 models::with_pages_for({.parallel = options.parallel,
                                                         .prefill = options.prefill,
                                                         .caches = {options.keys, options.values},
                                                         .shares_prefixes = false},
                                                        std::max<std::int64_t>(rows, 1)));
  }

  void begin(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) running_.push_back(sequences_.begin());
  }
  void end() {
    for (models::Sequence& each : running_) sequences_.end(each);
    running_.clear();
  }

  // `count` more rows in each sequence, in pieces; scores of the last one.
  void fill(std::int64_t count) {
    for (models::Sequence& sequence : running_) {
      const std::vector<std::int32_t> tokens = draws_.draw(count);
      std::span<const std::int32_t> left = tokens;
      while (!left.empty()) {
        const std::size_t size = std::min(left.size(), static_cast<std::size_t>(options_.prefill));
        const models::SequenceRows rows{&sequence, left.first(size), left.size() == size ? 1 : 0};
        left = left.subspan(size);
        // What was recorded runs before the next piece is recorded.
        read(sequences_.step({&rows, 1}));
      }
    }
  }

  void write_tokens() {
    const std::vector<std::int32_t> tokens =
        draws_.draw(static_cast<std::int64_t>(running_.size()));
    std::vector<models::SequenceRows> rows;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      rows.push_back({&running_[i], std::span(tokens).subspan(i, 1), 1});
    }
    read(sequences_.step(rows));
  }

  // The best token of each row, as a text that goes on would have it.
  static void read(const Array& scores) {
    if (scores.size() == 0) {
      scores.eval();
    } else {
      argmax(scores, 1).to_vector<std::int64_t>();
    }
  }

  const ModelBenchOptions options_;
  models::Sequences sequences_;
  std::vector<models::Sequence> running_;
  TokenDraws draws_;
};

// Tokens of texts that become vectors, a second.
double encoding_rate(const models::LanguageModel& model, const ModelBenchOptions& options,
                     TokenDraws& draws) {
  models::TokenLists texts;
  for (std::int64_t i = 0; i < options.parallel; ++i) texts.push_back(draws.draw(options.prompt));
  const double start = seconds_now();
  models::embed_texts(model, texts).to_vector<float>();
  return static_cast<double>(options.prompt * options.parallel) / (seconds_now() - start);
}

// Writes the texts once and gives tokens a second.
double drafted_rate(models::Scheduler& scheduler, const ModelBenchOptions& options,
                    TokenDraws& draws) {
  const double start = seconds_now();
  std::vector<std::shared_ptr<models::GenerationStream>> streams;
  for (std::int64_t i = 0; i < options.parallel; ++i) {
    models::GenerationRequest request{
        .tokens = draws.draw(std::max(options.depth, kLeastDraftedPrompt)),
        .most_tokens = options.tokens};
    request.sampling.temperature = 0;
    request.ignores_end = true;
    streams.push_back(scheduler.submit(std::move(request)));
  }
  std::int64_t tokens = 0;
  for (const auto& stream : streams) {
    tokens += std::ssize(models::read_text(*stream, {}).tokens);
  }
  return static_cast<double>(tokens) / (seconds_now() - start);
}

std::string depth_text(const ModelBenchOptions& options) {
  return options.depth > 0 ? " @ d" + std::to_string(options.depth) : "";
}

std::string streams_text(const ModelBenchOptions& options) {
  return options.parallel > 1 ? " x " + std::to_string(options.parallel) : "";
}

}  // namespace

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double deviation_of(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double ModelBenchRow::best() const { return *std::max_element(rates.begin(), rates.end()); }

std::vector<ModelBenchRow> measure_model(const models::LanguageModel& model,
                                         const ModelBenchOptions& options) {
  const std::string depth = depth_text(options), streams = streams_text(options);
  std::vector<ModelBenchRow> rows;
  const auto measure = [&](const std::string& test, const auto& rate) {
    rate();
    ModelBenchRow& row = rows.emplace_back();
    row.test = test;
    row.prefill = options.prefill;
    row.depth = options.depth;
    for (std::int64_t i = 0; i < options.repeat; ++i) row.rates.push_back(rate());
  };
  const std::string prompt = std::to_string(options.prompt);
  if (!model.config.gives_scores()) {
    if (options.prompt == 0) return rows;
    TokenDraws draws(model);
    measure("embed" + prompt + streams, [&] { return encoding_rate(model, options, draws); });
    return rows;
  }
  ModelRun run(model, options);
  if (options.together) {
    measure("pp" + prompt + "+tg" + std::to_string(options.tokens) + streams + depth,
            [&] { return run.writing_rate(); });
    return rows;
  }
  if (options.prompt > 0) {
    measure("pp" + prompt + depth, [&] { return run.prompt_rate(); });
  }
  if (options.tokens > 0) {
    measure("tg" + std::to_string(options.tokens) + streams + depth,
            [&] { return run.writing_rate(); });
  }
  return rows;
}

ModelBenchRow measure_drafts(const models::LoadedModel& loaded, const ModelBenchOptions& options,
                             std::int64_t drafts, const models::LoadedModel* draft_model) {
  constexpr std::int64_t kSpareRows = 64;  // of the least prompt
  models::require_scores(loaded.model.config, "bench-model: drafts");
  const std::int64_t rows = options.depth + options.tokens + drafts + kSpareRows;
  models::Scheduler scheduler(loaded,
                              models::with_pages_for({.parallel = options.parallel,
                                                      .prefill = options.prefill,
                                                      .caches = {options.keys, options.values},
                                                      .shares_prefixes = false,
                                                      .drafts = drafts,
                                                      .draft_model = draft_model},
                                                     rows));
  TokenDraws draws(loaded.model);
  ModelBenchRow row;
  row.prefill = options.prefill;
  row.depth = options.depth;
  row.test = "tg" + std::to_string(options.tokens) + streams_text(options) + " + " +
             std::to_string(drafts) + " drafts" + depth_text(options);
  drafted_rate(scheduler, options, draws);
  const models::SchedulerStats before = scheduler.stats();
  for (std::int64_t i = 0; i < options.repeat; ++i) {
    row.rates.push_back(drafted_rate(scheduler, options, draws));
  }
  const models::SchedulerStats after = scheduler.stats();
  const std::int64_t guessed = after.tokens_guessed - before.tokens_guessed;
  const std::int64_t held = after.guesses_held - before.guesses_held;
  row.held = guessed == 0 ? 0 : static_cast<double>(held) / static_cast<double>(guessed);
  return row;
}

}  // namespace hearth::tools
