// Losses: hearth/ops/loss.h.
#include "tools/bindings/call_lists.h"

#include "hearth/ops.h"
#include "ops/definition/rules.h"
#include "tools/bindings/call_macros.h"

namespace hearth::tools {
namespace {

const char* const kLoss = "x [...], targets [...] -> [...] for Reduction none, else []";

}  // namespace

std::vector<FunctionCall> loss_calls() {
  const SampleInput table = {{2, 3}};
  const SampleInput ids = {.shape = {2}, .lo = 0, .hi = 1, .dtype = kI64};
  const SampleInput vector = {{3}};
  const SampleInput lengths = {.shape = {2}, .lo = 1, .hi = 1, .dtype = kI64};
  const SampleInput labels = {.shape = {2, 1}, .lo = 1, .hi = 1, .dtype = kI64};
  return {
      {"cross_entropy",
       "logits [..., classes], targets [...] -> [...] for Reduction none, else []",
       {table, ids},
       CALL(cross_entropy(in[0], in[1]))},
      {"binary_cross_entropy",
       "x [...], targets [...], weight [...] -> [...] for Reduction none, else [], weight "
       "broadcast",
       {table, table, table},
       CALL(binary_cross_entropy(in[0], in[1], in[2]))},
      {"binary_cross_entropy_with_logits",
       "x [...], targets [...], weight [...] -> [...] for Reduction none, else [], weight "
       "broadcast",
       {table, table, table},
       CALL(binary_cross_entropy_with_logits(in[0], in[1], in[2]))},
      {"l1_loss", kLoss, {table, table}, CALL(l1_loss(in[0], in[1]))},
      {"mse_loss", kLoss, {table, table}, CALL(mse_loss(in[0], in[1]))},
      {"lp_loss", kLoss, {table, table}, CALL(lp_loss(in[0], in[1], 3))},
      {"huber_loss", kLoss, {table, table}, CALL(huber_loss(in[0], in[1]))},
      {"smooth_l1_loss", kLoss, {table, table}, CALL(smooth_l1_loss(in[0], in[1]))},
      {"kl_div", kLoss, {table, table}, CALL(kl_div(in[0], in[1]))},
      {"gaussian_nll_loss",
       "x [...], targets [...], variance [...] -> [...] for Reduction none, else []",
       {table, table, table},
       CALL(gaussian_nll_loss(in[0], in[1], in[2]))},
      {"poisson_nll_loss", kLoss, {table, table}, CALL(poisson_nll_loss(in[0], in[1]))},
      {"hinge_embedding_loss", kLoss, {table, table}, CALL(hinge_embedding_loss(in[0], in[1]))},
      {"soft_margin_loss", kLoss, {table, table}, CALL(soft_margin_loss(in[0], in[1]))},
      {"margin_ranking_loss",
       "a [...], b [...], targets [...] -> [...] for Reduction none, else []",
       {table, table, table},
       CALL(margin_ranking_loss(in[0], in[1], in[2]))},
      {"cosine_embedding_loss",
       "a [batch, dim], b [batch, dim], targets [batch] -> [batch] for Reduction none, else []",
       {table, table, {.shape = {2}}},
       CALL(cosine_embedding_loss(in[0], in[1], in[2]))},
      {"multi_margin_loss",
       "x [batch, classes], targets [batch], weight [classes] -> [batch] for Reduction none, else "
       "[]",
       {table, ids, vector},
       CALL(multi_margin_loss(in[0], in[1], 1, 1, in[2]))},
      {"triplet_margin_loss",
       "anchor [..., dim], positive [..., dim], negative [..., dim] -> [...] for Reduction none, "
       "else []",
       {table, table, table},
       CALL(triplet_margin_loss(in[0], in[1], in[2]))},
      {"ctc_loss",
       "log_probs [time, batch, classes], targets [batch, labels], input_lengths [batch], "
       "target_lengths [batch] -> [batch] for Reduction none, else []",
       {{.shape = {3, 2, 2}}, labels, lengths, lengths},
       CALL(ctc_loss(in[0], in[1], in[2], in[3]))},
      {"rnnt_loss",
       "log_probs [batch, time, labels + 1, classes], targets [batch, labels], input_lengths "
       "[batch], target_lengths [batch] -> [batch] for Reduction none, else []",
       {{.shape = {2, 3, 2, 2}}, labels, lengths, lengths},
       CALL(rnnt_loss(in[0], in[1], in[2], in[3]))},
  };
}

}  // namespace hearth::tools
