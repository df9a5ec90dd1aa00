// Which implementation serves: what the device has, what is accepted and fits, what a user's rule
// names, the order of the list.
#include "graph/selector.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "error_text.h"
#include "hearth/numerics.h"
#include "ops/definition/defs.h"

namespace hearth {
namespace {

using check::error_of;

void launch(const Launch&) {}
bool has_matrix(const runtime::DeviceTraits& device) { return device.has_simdgroup_matrix; }
bool is_square(const Signature& signature) {
  return signature.output.shape[0] == signature.output.shape[1];
}
bool has_dense_rows(const Signature& signature) { return signature.inputs[0].strides[1] == 1; }
bool always(const runtime::DeviceTraits&) { return true; }
Prepared workspace(std::int64_t bytes) { return {nullptr, bytes}; }
bool fuses(const Signature&) { return true; }

constexpr Implementation kList[] = {
    {.name = "matrix",
     .op = &defs::matmul_op,
     .needs = has_matrix,
     .launch = launch,
     .variants =
         [](const Signature&) {
           return std::vector<Candidate>{{"matrix/8", workspace(8)}, {"matrix/16", workspace(16)}};
         },
     .variant_names = [] { return std::vector<std::string>{"matrix/8", "matrix/16", "matrix/32"}; },
     .tuning = Tuning::rivals},
    {.name = "square",
     .op = &defs::matmul_op,
     .accepts = is_square,
     .prepare = [](const Signature&) { return workspace(1); },
     .launch = launch},
    {.name = "dense",
     .op = &defs::matmul_op,
     .fits = has_dense_rows,
     .fuses = fuses,
     .prepare = [](const Signature&) { return workspace(2); },
     .launch = launch},
    {.name = "any", .op = &defs::matmul_op, .launch = launch},
    {.name = "asked", .op = &defs::matmul_op, .on_request = always, .launch = launch},
    {.name = "composed", .op = &defs::softmax_op, .accepts = is_square},
    {.name = "rows", .op = &defs::softmax_op, .launch = launch},
};

Signature signature_of(Shape shape, bool transposed = false) {
  Signature signature;
  signature.op = &defs::matmul_op;
  signature.output = {DType::f32, shape, contiguous_strides(shape), false};
  TensorSpec input = signature.output;
  if (transposed) input.strides = {1, shape[0]};
  signature.inputs = {input, input};
  return signature;
}

SelectorOptions options(const std::string& rules = "") {
  SelectorOptions made;
  made.families = {kList};
  made.rules = rules;
  return made;
}

std::string found(const Selector& selector, const Signature& signature) {
  const Implementation* const chosen = selector.find(signature);
  return chosen == nullptr ? "none" : chosen->name;
}

TEST(Selector, TheFirstThatServes) {
  const Selector plain(options());
  EXPECT_EQ(found(plain, signature_of({4, 4})), "square");
  EXPECT_EQ(found(plain, signature_of({4, 5})), "dense");
  EXPECT_EQ(found(plain, signature_of({4, 5}, true)), "any");
  SelectorOptions rich = options();
  rich.traits.has_simdgroup_matrix = true;
  EXPECT_EQ(found(Selector(rich), signature_of({4, 5})), "matrix");
  EXPECT_EQ(plain.implementations(&defs::matmul_op).size(), 4u);
  EXPECT_TRUE(plain.implementations(&defs::exp_op).empty());
}

TEST(Selector, RowsHaveBitsOfTheirOwnWhereNumericsAskForIt) {
  static constexpr Implementation kOrders[] = {
      {.name = "rows",
       .op = &defs::matmul_op,
       .row_bits = RowBits::chosen,
       .accepts = is_square,
       .launch = launch},
      {.name = "library", .op = &defs::matmul_op, .row_bits = RowBits::shared, .launch = launch},
      {.name = "other", .op = &defs::matmul_op, .launch = launch}};
  SelectorOptions orders;
  orders.families = {kOrders};
  const Selector selector(orders);
  orders.rules = "matmul=library";
  const Selector asked(orders);
  EXPECT_EQ(found(selector, signature_of({4, 4})), "library");
  Numerics wanted = numerics();
  wanted.batch_invariant = true;
  const WithNumerics invariant(wanted);
  EXPECT_EQ(found(selector, signature_of({4, 4})), "rows");
  EXPECT_EQ(found(selector, signature_of({4, 5})), "other");
  EXPECT_EQ(found(asked, signature_of({4, 4})), "rows");  // a rule does not change it
}

TEST(Selector, ALibraryIsOpenedForWhatItTakes) {
  static constexpr Implementation kOpened[] = {
      {.name = "library",
       .op = &defs::matmul_op,
       .accepts = is_square,
       .opens = [](const runtime::DeviceTraits& d) { return d.libraries.factorizations.opens(); },
       .launch = launch},
      {.name = "other", .op = &defs::matmul_op, .launch = launch}};
  int asked = 0;
  bool exists = true;
  SelectorOptions both;
  both.families = {kOpened};
  both.traits.libraries.factorizations.opens = [&] { return ++asked > 0 && exists; };
  const Selector selector(both);
  EXPECT_EQ(found(selector, signature_of({4, 5})), "other");
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(found(selector, signature_of({4, 4})), "library");
  EXPECT_EQ(asked, 1);
  exists = false;
  EXPECT_EQ(found(selector, signature_of({4, 4})), "other");
}

TEST(Selector, AnImplementationWithoutALaunchIsTheComposite) {
  const Selector selector(options());
  Signature signature = signature_of({4, 4});
  signature.op = &defs::softmax_op;
  EXPECT_TRUE(selector.has(&defs::softmax_op));
  EXPECT_EQ(found(selector, signature), "none");
  signature.output.shape = {4, 5};
  EXPECT_EQ(found(selector, signature), "rows");
}

TEST(Selector, EarlierFamiliesGoFirst) {
  static constexpr Implementation kBetter[] = {
      {.name = "better", .op = &defs::matmul_op, .launch = launch}};
  SelectorOptions both = options();
  both.families.insert(both.families.begin(), Family(kBetter));
  EXPECT_EQ(found(Selector(both), signature_of({4, 4})), "better");
}

TEST(Selector, RulesOfTheUser) {
  const auto with = [](const std::string& rules, const Signature& signature) {
    return found(Selector(options(rules)), signature);
  };
  EXPECT_EQ(with("matmul=any", signature_of({4, 4})), "any");
  EXPECT_EQ(with("matmul=asked", signature_of({4, 4})), "asked");
  // A rule that cannot be followed changes nothing.
  EXPECT_EQ(with("matmul=square", signature_of({4, 5})), "dense");
  EXPECT_EQ(with("matmul=matrix/32", signature_of({4, 5})), "dense");
  EXPECT_EQ(with("matmul=square,matmul=any", signature_of({4, 5})), "any");
  EXPECT_EQ(with("softmax=rows", signature_of({4, 4})), "square");
}

// Whatever the device has, and also for epilogues, which are not known when an op is traced.
TEST(Selector, RulesForClassesOfProblems) {
  static constexpr Implementation kClasses[] = {
      {.name = "first",
       .op = &defs::matmul_op,
       .fuses = fuses,
       .prepare = [](const Signature&) { return workspace(1); },
       .launch = launch},
      {.name = "second",
       .op = &defs::matmul_op,
       .fuses = fuses,
       .prepare = [](const Signature&) { return workspace(2); },
       .launch = launch},
      {.name = "matrix",
       .op = &defs::matmul_op,
       .needs = has_matrix,
       .launch = launch,
       .tuning_class = [](const Signature& signature) {
         return TuningClass{signature.epilogue.empty() ? "plain" : "plain relu", 0};
       }}};
  const std::string path = ::testing::TempDir() + "/selector_rules.json";
  std::ofstream(path) << R"([{"op": "matmul", "class": "* relu", "choose": "second"}])";
  SelectorOptions with = options(path);
  with.families = {kClasses};
  const Selector selector(with);
  Signature signature = signature_of({4, 4});
  const Implementation& chosen = *selector.find(signature);
  EXPECT_STREQ(chosen.name, "first");
  EXPECT_EQ(selector.prepare(chosen, signature).workspace_bytes, 1);
  signature.epilogue = {{&defs::relu_op}};
  EXPECT_EQ(selector.prepare(chosen, signature).workspace_bytes, 2);
  std::remove(path.c_str());
}

// The implementation that is found without the epilogue applies none.
TEST(Selector, RulesForClassesWithAnEpilogueThatTheDefaultLeaves) {
  static constexpr Implementation kClasses[] = {
      {.name = "plain",
       .op = &defs::matmul_op,
       .launch = launch,
       .tuning_class =
           [](const Signature& signature) {
             return TuningClass{signature.epilogue.empty() ? "plain" : "plain relu", 0};
           }},
      {.name = "other", .op = &defs::matmul_op, .launch = launch},
      {.name = "fused", .op = &defs::matmul_op, .fuses = fuses, .launch = launch}};
  Signature signature = signature_of({4, 4});
  signature.epilogue = {{&defs::relu_op}};
  const auto fusing = [&](const std::string& problem, const std::string& name) {
    const std::string path = ::testing::TempDir() + "/selector_epilogues.json";
    std::ofstream(path) << R"([{"op": "matmul", "class": ")" + problem + R"(", "choose": ")" +
                               name + "\"}]";
    SelectorOptions with = options(path);
    with.families = {kClasses};
    const Selector selector(with);
    const Implementation& chosen = *selector.find(signature_of({4, 4}));
    EXPECT_STREQ(chosen.name, "plain");
    EXPECT_TRUE(selector.may_fuse(chosen));
    const Implementation* const found = selector.fusing(chosen, signature);
    std::remove(path.c_str());
    return std::string(found == nullptr ? "none" : found->name);
  };
  EXPECT_EQ(fusing("* relu", "fused"), "fused");
  EXPECT_EQ(fusing("* relu", "other"), "none");
  EXPECT_EQ(fusing("* gelu", "fused"), "none");
  SelectorOptions without = options("matmul=plain");
  without.families = {kClasses};
  EXPECT_FALSE(Selector(without).may_fuse(kClasses[0]));
}

TEST(Selector, RulesThatNameNothingAreErrors) {
  const auto text = [](const std::string& rules) {
    const Selector selector(options(rules));
    return error_of(ErrorCode::invalid_argument, [&] { selector.find(signature_of({4, 4})); });
  };
  EXPECT_NE(text("matmul=matrix/64").find("no implementation of matmul; got 'matrix/64'"),
            std::string::npos);
  EXPECT_NE(text("matmull=any").find("no op that has a choice; got 'matmull'"), std::string::npos);
}

TEST(Selector, CandidatesAreMeasuredWhereRivalsServe) {
  static std::vector<std::string> names;
  static std::string problem;
  SelectorOptions rich = options();
  rich.traits.has_simdgroup_matrix = true;
  rich.measured = [](const OpDef&, TuningClass of, std::vector<Candidate> candidates) {
    names.clear();
    for (const Candidate& each : candidates) names.push_back(each.name);
    problem = of.problem;
    return candidates.back().prepared;
  };
  const auto prepare = [](const SelectorOptions& from, const Signature& signature) {
    const Selector selector(from);
    names.clear();
    return selector.prepare(*selector.find(signature), signature).workspace_bytes;
  };
  prepare(rich, signature_of({4, 4}));
  EXPECT_EQ(names, (std::vector<std::string>{"matrix/8", "matrix/16", "square", "dense", "any"}));
  EXPECT_EQ(problem, "f32 [4, 4] [4, 4]");
  prepare(rich, signature_of({4, 5}, true));
  EXPECT_EQ(names, (std::vector<std::string>{"matrix/8", "matrix/16", "any"}));
  // Nor is what cannot write rows with gaps, or leave results out.
  Signature padded = signature_of({4, 4});
  padded.output.strides = {8, 1};
  prepare(rich, padded);
  EXPECT_EQ(names, (std::vector<std::string>{"matrix/8", "matrix/16"}));
  // What does not take the epilogue is no rival.
  Signature fused = signature_of({4, 4});
  fused.epilogue = {{&defs::relu_op}};
  prepare(rich, fused);
  EXPECT_EQ(names, (std::vector<std::string>{"matrix/8", "matrix/16", "dense"}));
  // Nor are others where a rule has spoken.
  rich.rules = "matmul=matrix";
  EXPECT_EQ(prepare(rich, signature_of({4, 4})), 16);
  EXPECT_EQ(names, (std::vector<std::string>{"matrix/8", "matrix/16"}));
  rich.rules = "matmul=matrix/8";
  EXPECT_EQ(prepare(rich, signature_of({4, 4})), 8);
  EXPECT_TRUE(names.empty());
}

}  // namespace
}  // namespace hearth
