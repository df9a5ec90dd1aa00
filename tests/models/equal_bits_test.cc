// A text's bits do not depend on what runs beside it: on the CPU without AMX always, else with
// Numerics::batch_invariant. However its prompt is cut, beside other texts and beside
// one that is NaN throughout, behind rows that another text computed, and with guesses ahead.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "devices/cpu/gemm/kernels.h"
#include "devices_under_test.h"
#include "hearth/numerics.h"
#include "models/language/cache.h"
#include "models/own_bits.h"
#include "models/random_language_model.h"
#include "models/rows_of_texts.h"
#include "models/serving/scheduler.h"
#include "models/texts_alone.h"

namespace hearth::models {
namespace {

using testing::different;
using testing::random_tokens;
using testing::RandomModel;
using testing::RowsOfTexts;

struct BitsCase {
  const char* name;
  RandomModel model;
  const char* cache;
};

// What weights are stored as, what is computed in, and what caches hold.
const BitsCase kBitsCases[] = {
    {"f16", {.golden = "llama", .compute = DType::f16, .weights = DType::f16}, "f16"},
    {"bf16", {.golden = "mistral_window", .compute = DType::bf16, .weights = DType::bf16}, "bf16"},
    {"f16_weights", {.golden = "mistral_window", .weights = DType::f16}, "f32"},
    {"bf16_weights", {.golden = "llama", .weights = DType::bf16}, "f16"},
    {"q8_0", {.golden = "mistral_window", .weights = DType::q8_0, .dim = 64, .hidden = 64}, "q8_0"},
    {"q4_0_in_bf16",
     {.golden = "llama", .compute = DType::bf16, .weights = DType::q4_0, .dim = 64, .hidden = 64},
     "tq4"},
    {"q4_0_experts", {.golden = "gpt_oss", .weights = DType::q4_0}, "f32"},
};
// Of which simulators are slow.
const BitsCase kWideBitsCases[] = {
    {"q4_k_in_f16",
     {.golden = "mistral_window",
      .compute = DType::f16,
      .weights = DType::q4_k,
      .dim = 256,
      .hidden = 256},
     "tq3"},
    {"q6_k", {.golden = "gemma3", .weights = DType::q6_k, .dim = 256, .hidden = 256}, "f32"},
    {"q8_0_of_gemma", {.golden = "gemma3", .weights = DType::q8_0, .dim = 64, .hidden = 64}, "f16"},
};

void PrintTo(const BitsCase& each, std::ostream* out) { *out << each.name; }

class EqualBits : public ::testing::TestWithParam<std::tuple<BitsCase, bool>> {
 protected:
  EqualBits() : device_(is_kernel_device() ? testing::kernel_device_under_test() : Device::cpu()) {}

  static const BitsCase& own() { return std::get<0>(GetParam()); }
  static bool is_kernel_device() { return std::get<1>(GetParam()); }
  static Numerics asked() {
    Numerics wanted = numerics();
    wanted.batch_invariant = is_kernel_device() || cpu::amx_gemm() != nullptr;
    return wanted;
  }

  LanguageModel model(bool has_poison) const {
    RandomModel wanted = own().model;
    wanted.seed = 77;
    wanted.head_dim = 32;
    wanted.has_poison = has_poison;
    LanguageModel made = testing::random_language_model(wanted, kContext, device_);
    made.config.context = kContext;
    return made;
  }
  static CacheOptions options() {
    CacheOptions made{.pages = 100, .page_size = 4, .states = 5};
    made.keys = made.values = cache_type_from_name(own().cache);
    return made;
  }

  const WithNumerics invariant_{asked()};
  const Device device_;
};

TEST_P(EqualBits, OfARowInAnyCompany) {
  constexpr std::int64_t kRows = 26;
  const LanguageModel model = this->model(true);
  const auto poison = static_cast<std::int32_t>(model.vocabulary() - 1);
  const RowsOfTexts::Tokens tokens = random_tokens(kRows, poison, 5);
  RowsOfTexts whole(model, options());
  whole.begin(tokens);
  whole.run(0, kRows);
  const std::vector<float>& expected = whole.scores(0);
  // The token that is NaN has such scores where the tables are one.
  EXPECT_LE(std::ranges::count_if(expected, [](float x) { return std::isnan(x); }), kRows);
  // A simulator is slow: what runs beside others has all of these.
  for (const std::int64_t piece : {1, 3, 7}) {
    if (is_kernel_device()) break;
    RowsOfTexts alone(model, options());
    alone.begin(tokens);
    alone.run(0, piece);
    EXPECT_EQ(different(alone.scores(0), expected), 0u) << "in pieces of " << piece;
  }
  RowsOfTexts beside(model, options());
  const std::size_t own = beside.begin(tokens);
  beside.begin(random_tokens(19, poison, 6));
  beside.begin(RowsOfTexts::Tokens(21, poison));
  beside.run_all(9, 8);
  EXPECT_EQ(different(beside.scores(own), expected), 0u) << "beside others";
  // Behind rows that were computed beside those of NaN, a page of them filled in part.
  const std::size_t next = beside.begin(tokens);
  const std::int64_t known = beside.length(next);
  EXPECT_GE(known, kRows / 4 * 4);
  beside.run(next, 2);
  const std::vector<float>& rest = beside.scores(next);
  EXPECT_EQ(different(rest, std::span(expected).last(rest.size())), 0u) << "behind " << known;
}

// Texts that begin alike, several at once, with guesses, in steps of few rows and of many.
TEST_P(EqualBits, OfAnswersInAnyCompany) {
  LanguageModel made = model(false);
  const std::int64_t vocabulary = made.vocabulary();
  const LoadedModel loaded{std::move(made), words(vocabulary)};
  std::vector<GenerationRequest> requests;
  for (std::uint64_t i = 0; i < 2; ++i) {
    requests.push_back(request_of(loaded, i, 6, 8));
    requests.back().logprobs = 0;
    // Of few words, which a guess may hit.
    requests.back().sampling.logit_bias = {{5, 60}, {6, 60}, {7, 60}};
    Tokens& tokens = requests.back().tokens;
    const Tokens beginning = random_tokens(9, vocabulary, 9);
    for (int times = 0; times < 2; ++times) {
      tokens.insert(tokens.begin(), beginning.begin(), beginning.end());
    }
  }
  const auto options = [&](SchedulerOptions wanted) {
    wanted.pages = 60;
    wanted.page_size = 4;
    wanted.caches = cache_types_from_names(own().cache, own().cache);
    return wanted;
  };
  std::vector<Answer> alone;
  for (const GenerationRequest& request : requests) {
    Scheduler scheduler(loaded, options({.parallel = 1, .shares_prefixes = false}));
    alone.push_back(read(*scheduler.submit(request)));
    EXPECT_EQ(std::ssize(alone.back().tokens), request.most_tokens);
  }
  for (const std::int64_t prefill : {5, 64}) {
    if (is_kernel_device() && prefill == 64) break;
    Scheduler scheduler(loaded, options({.parallel = 2, .prefill = prefill, .drafts = 9}));
    const auto expect_answer = [&](GenerationStream& stream, std::size_t i) {
      const Answer got = read(stream);
      EXPECT_EQ(got.tokens, alone[i].tokens) << i << ", " << prefill;
      EXPECT_EQ(different(got.logprobs, alone[i].logprobs), 0u) << i << ", " << prefill;
    };
    std::vector<std::shared_ptr<GenerationStream>> streams;
    for (const GenerationRequest& request : requests) streams.push_back(scheduler.submit(request));
    for (std::size_t i = 0; i < streams.size(); ++i) expect_answer(*streams[i], i);
    // Behind what is known of it.
    expect_answer(*scheduler.submit(requests[1]), 1);
    EXPECT_GT(scheduler.stats().tokens_guessed, 0);
    EXPECT_GT(scheduler.stats().tokens_cached, 0);
  }
}

// Recurrences that run prompts in blocks of rows and answers row by row: of prompts of more than a
// block, with guesses and without.
TEST(EqualBitsOfBlocks, HoweverPromptsAreCut) {
  const WithNumerics bits(testing::own_bits());
  for (const char* name : {"qwen3_next", "qwen3_5", "mamba2"}) {
    const LoadedModel loaded = loaded_golden(name);
    std::vector<GenerationRequest> requests;
    for (std::uint64_t i = 0; i < 3; ++i) {
      requests.push_back(request_of(loaded, i, 70 + 31 * static_cast<std::size_t>(i), 14));
      requests.back().logprobs = 0;
      requests.back().sampling.logit_bias = {{5, 60}, {6, 60}, {7, 60}};
    }
    const auto answers = [&](std::int64_t running, std::int64_t prefill, std::int64_t drafts) {
      Scheduler scheduler(loaded, {.pages = 70,
                                   .page_size = 8,
                                   .parallel = running,
                                   .prefill = prefill,
                                   .shares_prefixes = false,
                                   .save_rows = 16,
                                   .drafts = drafts});
      std::vector<std::shared_ptr<GenerationStream>> streams;
      for (const GenerationRequest& each : requests) streams.push_back(scheduler.submit(each));
      std::vector<Answer> all;
      for (const auto& stream : streams) all.push_back(read(*stream));
      return all;
    };
    const std::vector<Answer> alone = answers(1, 512, 0);
    for (const std::int64_t prefill : {1, 16, 90}) {
      const std::vector<Answer> beside = answers(3, prefill, prefill == 1 ? 0 : 9);
      for (std::size_t i = 0; i < alone.size(); ++i) {
        EXPECT_EQ(std::ssize(alone[i].tokens), requests[i].most_tokens);
        EXPECT_EQ(beside[i].tokens, alone[i].tokens) << name << " " << i;
        EXPECT_EQ(different(beside[i].logprobs, alone[i].logprobs), 0u) << name << " " << i;
      }
    }
  }
}

std::string name_of_bits(const ::testing::TestParamInfo<std::tuple<BitsCase, bool>>& each) {
  return std::string(std::get<0>(each.param).name) +
         (std::get<1>(each.param) ? "_kernels" : "_cpu");
}

INSTANTIATE_TEST_SUITE_P(All, EqualBits,
                         ::testing::Combine(::testing::ValuesIn(kBitsCases), ::testing::Bool()),
                         name_of_bits);
INSTANTIATE_TEST_SUITE_P(Wide, EqualBits,
                         ::testing::Combine(::testing::ValuesIn(kWideBitsCases),
                                            ::testing::Values(false)),
                         name_of_bits);

}  // namespace
}  // namespace hearth::models
