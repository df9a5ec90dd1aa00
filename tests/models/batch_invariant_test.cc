// Numerics::batch_invariant on a GPU, which the simulator is: the scores of a row are the same bits
// alone, beside other texts, and however its prompt is cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hearth/numerics.h"
#include "hearth/ops.h"
#include "models/golden_language_model.h"
#include "models/golden_model.h"
#include "models/language/model/sequences.h"

namespace hearth::models {
namespace {

using testing::GoldenModel;

struct InvariantCase {
  const char* model;
  DType compute;
};

class BatchInvariant : public ::testing::TestWithParam<InvariantCase> {
 protected:
  static Numerics asked() {
    Numerics wanted = numerics();
    wanted.batch_invariant = true;
    return wanted;
  }

  // Texts of the same tokens, each cut as its list of counts says; a step has the next piece of
  // each text that has one left. The scores of all rows of each.
  static std::vector<std::vector<double>> scores_of(
      const LanguageModel& model, DType compute, std::span<const std::int32_t> tokens,
      const std::vector<std::vector<std::int64_t>>& cuts) {
    Sequences sequences(
        model, {.pages = 40, .page_size = 4, .states = 4, .keys = compute, .values = compute});
    std::vector<Sequence> texts;
    for (std::size_t i = 0; i < cuts.size(); ++i) texts.push_back(sequences.begin());
    std::vector<std::vector<double>> got(cuts.size());
    for (std::size_t step = 0;; ++step) {
      std::vector<SequenceRows> rows;
      std::vector<std::size_t> who;
      for (std::size_t i = 0; i < cuts.size(); ++i) {
        if (step >= cuts[i].size()) continue;
        const std::int64_t count = cuts[i][step];
        rows.push_back({&texts[i],
                        tokens.subspan(static_cast<std::size_t>(texts[i].length),
                                       static_cast<std::size_t>(count)),
                        count});
        who.push_back(i);
      }
      if (rows.empty()) return got;
      const std::vector<double> scores = cast(sequences.step(rows), DType::f32).to_doubles();
      auto from = scores.begin();
      for (std::size_t i = 0; i < who.size(); ++i) {
        const auto end = from + rows[i].outputs * model.vocabulary();
        got[who[i]].insert(got[who[i]].end(), from, end);
        from = end;
      }
    }
  }

  const WithNumerics invariant_{asked()};
};

TEST_P(BatchInvariant, ARowHasTheSameBitsInAnyCompany) {
  const auto& [name, compute] = GetParam();
  const GoldenModel golden = testing::read_golden_model(name);
  const std::vector<std::int32_t> tokens(golden.prompts.back().tokens.begin(),
                                         golden.prompts.back().tokens.end());
  const auto length = static_cast<std::int64_t>(tokens.size());
  const GgufContents contents = gguf_of_folder(golden.config, testing::golden_weights(golden));
  const Device device = Device::named("sim");
  const LanguageModel model(read_config(contents.metadata, FileKind::folder),
                            Weights(contents.arrays, compute, device), device, length);
  const std::int64_t third = length / 3;
  const std::vector<std::vector<double>> whole = scores_of(model, compute, tokens, {{length}});
  const std::vector<std::vector<double>> alone =
      scores_of(model, compute, tokens, {{third, 1, 1, length - third - 2}});
  const std::vector<std::vector<double>> beside =
      scores_of(model, compute, tokens,
                {{1, 1, length - 2}, {third, length - third - 1, 1}, {length - 1, 1}});
  ASSERT_EQ(whole[0].size(), static_cast<std::size_t>(length * model.vocabulary()));
  const auto expect_equal = [&](const std::vector<double>& got, const std::string& what) {
    ASSERT_EQ(got.size(), whole[0].size()) << what;
    std::size_t differ = 0;
    for (std::size_t i = 0; i < got.size(); ++i) differ += got[i] == whole[0][i] ? 0u : 1u;
    EXPECT_EQ(differ, 0u) << what;
  };
  expect_equal(alone[0], "alone, in pieces");
  for (const std::vector<double>& each : beside) expect_equal(each, "beside others");
}

INSTANTIATE_TEST_SUITE_P(Families, BatchInvariant,
                         ::testing::Values(InvariantCase{"llama", DType::f16},
                                           InvariantCase{"mistral_window", DType::f32},
                                           InvariantCase{"ministral3", DType::bf16},
                                           InvariantCase{"qwen3_moe", DType::f32},
                                           InvariantCase{"deepseek_v2", DType::f32},
                                           InvariantCase{"lfm2", DType::f32},
                                           InvariantCase{"mamba2", DType::f32}),
                         [](const auto& each) { return std::string(each.param.model); });

}  // namespace
}  // namespace hearth::models
