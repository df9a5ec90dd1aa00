#include "kernels/launch/contraction_choices.h"

#include "kernels/attention/inputs.h"
#include "kernels/attention/simdgroup.h"
#include "kernels/autotune/candidate.h"
#include "kernels/launch/op_kernels.h"
#include "kernels/matmul/epilogue.h"
#include "kernels/matmul/simdgroup.h"
#include "runtime/device/environment.h"

namespace hearth::gpu {
namespace {

// The first that fits counts; see DefaultRule. Of a family, the tile that should be fastest goes
// first.
constexpr DefaultRule kRules[] = {
    {.op = "matmul", .name = "simdgroup"},
    {.op = "attention", .name = "simdgroup"},
};

constexpr const char* kPortable = "portable";

std::string name_of(const SimdgroupTile& tile) {
  return "simdgroup/" + std::to_string(tile.m) + "x" + std::to_string(tile.n) + "x" +
         std::to_string(tile.depth);
}

std::string name_of(const AttentionTile& tile) {
  return "simdgroup/" + std::to_string(tile.simdgroups) + "x" + std::to_string(tile.blocks) + "x" +
         std::to_string(tile.keys) + (tile.held ? "_held" : "");
}

// n: rows are dense, t: columns are, s: neither.
char layout_of(const TensorSpec& spec) {
  const int row = spec.shape.rank() - 2, column = row + 1;
  if (spec.strides[column] == 1 || spec.shape[column] == 1) return 'n';
  return spec.strides[row] == 1 || spec.shape[row] == 1 ? 't' : 's';
}

std::string sized(const char* name, std::int64_t extent) {
  return " " + std::string(name) + std::to_string(size_class(extent));
}

ChoiceClass matmul_class(const Signature& signature) {
  const TensorSpec& a = signature.inputs[0];
  const TensorSpec& b = signature.inputs[1];
  const Shape& c = signature.output.shape;
  const std::int64_t m = c[c.rank() - 2], n = c.back(), k = a.shape.back();
  const std::int64_t results = element_count(c);
  ChoiceClass made;
  made.op = "matmul";
  made.work = static_cast<double>(results) * static_cast<double>(k);
  made.problem = std::string(name(signature.output.dtype)) + " " + layout_of(a) + layout_of(b) +
                 sized("m", m) + sized("n", n) + sized("k", k) + sized("b", results / (m * n));
  const MatmulEpilogue epilogue = matmul_epilogue(signature).value_or(MatmulEpilogue{});
  constexpr const char* kActivations[] = {"", " relu", " gelu"};
  if (epilogue.bias >= 0) made.problem += " bias";
  if (epilogue.residual >= 0) made.problem += " residual";
  made.problem += kActivations[static_cast<int>(epilogue.activation)];
  return made;
}

ChoiceClass attention_class(const Signature& signature) {
  const AttentionInputs a(signature, kQ);
  ChoiceClass made;
  made.op = "attention";
  made.work = a.work();
  // Columns are exact: which tiles fit depends on them.
  made.problem = std::string(name(a.dtype())) + sized("q", a.rows) + sized("k", a.keys) +
                 sized("h", a.heads) + sized("g", a.kv_heads) + sized("b", a.batch) + " d" +
                 std::to_string(a.d) + " v" + std::to_string(a.dv);
  if (a.causal) made.problem += " causal";
  if (a.has_mask) made.problem += " mask";
  if (a.has_bias) made.problem += " bias";
  if (a.has_softcap) made.problem += " softcap";
  if (a.bounded) made.problem += " bounded";
  return made;
}

}  // namespace

Prepared attention_choice(const Signature& signature, bool library) {
  std::vector<Alternative> alternatives;
  for (const AttentionTile& tile : simdgroup_attention_tiles(signature)) {
    alternatives.push_back({name_of(tile), simdgroup_attention(signature, tile)});
  }
  alternatives.push_back({kPortable, portable_attention(signature)});
  if (library) {
    if (auto call = plain_library_attention(signature)) {
      alternatives.push_back({kLibrary, std::move(*call)});
    }
  }
  return prepared_choice(attention_class(signature), std::move(alternatives));
}

Prepared matmul_choice(const Signature& signature, std::int64_t cores, bool library) {
  std::vector<Alternative> alternatives;
  const std::int64_t shares = simdgroup_shares(signature, cores);
  for (const SimdgroupTile& tile : simdgroup_tiles(signature, cores)) {
    alternatives.push_back({name_of(tile), simdgroup_matmul(signature, tile, shares)});
  }
  alternatives.push_back({kPortable, portable_matmul(signature)});
  if (library) {
    if (auto calls = packed_library_matmul(signature)) {
      alternatives.push_back({kLibrary, std::move(*calls)});
    }
  }
  return prepared_choice(matmul_class(signature), std::move(alternatives));
}

ChooserOptions contraction_choices(bool tries_library) {
  ChooserOptions options;
  options.choices = runtime::environment().choices;
  options.tunes = runtime::environment().tune;
  if (!tries_library) options.table.on_request.emplace_back(kLibrary);
  options.table.rules.assign(std::begin(kRules), std::end(kRules));
  for (const SimdgroupTile& tile : all_simdgroup_tiles()) {
    options.table.names.push_back({"matmul", name_of(tile)});
  }
  for (const AttentionTile& tile : all_attention_tiles()) {
    options.table.names.push_back({"attention", name_of(tile)});
  }
  for (const char* op : {"matmul", "attention"}) {
    options.table.names.push_back({op, kPortable});
    options.table.names.push_back({op, kLibrary});
  }
  return options;
}

}  // namespace hearth::gpu
