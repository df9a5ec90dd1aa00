// Reductions, orders, counts and draws: hearth/random.h and ops/{reduce, sort, statistics}.h.
#include "tools/bindings/call_lists.h"

#include "hearth/ops.h"
#include "hearth/random.h"
#include "ops/definition/rules.h"
#include "tools/bindings/call_macros.h"
#include "tools/bindings/op_document.h"

namespace hearth::tools {
namespace {

// Not the thread's, which nothing may move.
Generator& source() {
  thread_local Generator generator;
  return generator;
}

}  // namespace

std::vector<FunctionCall> statistic_calls() {
  const SampleInput table = {{2, 3}};
  const SampleInput vector = {{3}};
  return {
      {"mean", kReductionShapes, {table}, CALL(mean(in[0]))},
      {"var", kReductionShapes, {table}, CALL(var(in[0]))},
      {"std", kReductionShapes, {table}, CALL(hearth::std(in[0]))},
      {"sort", kSame, {table}, CALL(hearth::sort(in[0]))},
      {"argsort", kSame, {table}, CALL(argsort(in[0]))},
      {"topk", "x [..., n, ...] -> [..., k, ...], n at axis", {table}, CALL(topk(in[0], 2))},
      {"argtopk", "x [..., n, ...] -> [..., k, ...], n at axis", {table}, CALL(argtopk(in[0], 2))},
      {"topk_with_indices",
       "x [..., n, ...] -> values and indices [..., k, ...], n at axis",
       {table},
       CALL_OF_ALL(topk_with_indices(in[0], 2))},
      {"median",
       "x [...] -> [... without axis, or 1 there with keepdim]",
       {table},
       CALL(median(in[0], 1))},
      {"median_with_indices",
       "x [...] -> values and indices [... without axis, or 1 there with keepdim]",
       {table},
       CALL_OF_ALL(median_with_indices(in[0], 1))},
      {"random_permutation",
       "-> [count]",
       {},
       CALL(random_permutation(2, dtype, Device(), &source()))},
      {"bucketize",
       "values [...], edges [n] -> [...]",
       {table, vector},
       CALL(bucketize(in[0], in[1], false, dtype))},
      {"quantile",
       "x [...] -> [number of q, ... without axis, or 1 there with keepdim]",
       {table},
       CALL(quantile(in[0], {0.5}, 1))},
      {"var_mean",
       "x [...] -> variance and mean [... without axes, or 1 there with keepdim]",
       {table},
       CALL_OF_ALL(var_mean(in[0], {1}))},
      {"bincount",
       "x [...], weights [...] -> [length]",
       {{.shape = {3}}, {.shape = {3}, .dtype = kI64}},
       CALL(bincount(in[0], in[1]))},
      {"histogram",
       "x [...], weights [...] -> counts [bins], edges [bins + 1]",
       {table, table},
       CALL_OF_ALL(histogram(in[0], 2, Bounds{0, 1}, in[1]))},
      {"histogram_by_edges",
       "x [...], edges [n], weights [...] -> [n - 1]",
       {table, vector, {.shape = {2, 3}, .dtype = kI64}},
       CALL(histogram_by_edges(in[0], in[1], in[2]))},
      {"multinomial",
       "weights [..., categories] -> [..., count]",
       {table},
       CALL(multinomial(in[0], 2, false, &source()))},
      {"categorical",
       "weights [..., categories] -> [..., count]",
       {table},
       CALL(categorical(in[0], 2, &source()))},
      {"dropout", kSame, {table}, CALL(dropout(in[0], 0.5, true, &source()))},
  };
}

}  // namespace hearth::tools
