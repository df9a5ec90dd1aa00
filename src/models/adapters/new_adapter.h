// Adapters that are to be trained.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "hearth/parameter.h"
#include "hearth/random.h"
#include "models/adapters/adapter.h"

namespace hearth::models {

struct NewAdapterOptions {
  std::int64_t rank = 8;
  double alpha = 16;
  // Which projections of layers get a pair: "attention", "all", but for routers of experts, or a
  // regular expression that is found in GGUF's name of it ("blk.3.ffn_(up|down)").
  std::string layers = "attention";
  DType dtype = DType::f32;
  Device device = {};
  Generator* generator = nullptr;  // null: the thread's
};

// Makes a pair for each projection that it is asked for and that is chosen: a of +-1 / sqrt(in), as
// a linear layer's first weights are, b of zeros.
class NewAdapter {
 public:
  // Throws Error{invalid_argument} for a rank below 1, an alpha that is not positive, and what is
  // no regular expression.
  explicit NewAdapter(const NewAdapterOptions& options);

  // Refers to this.
  FindLowRank finder();
  // Of all pairs that were made, which stay this one's. Throws Error{invalid_argument} where none
  // was.
  const Adapter& adapter() const;
  // They require gradients; names are those of files, "blk.0.attn_q.weight.lora_a".
  std::vector<Parameter> parameters();

 private:
  bool chooses(const std::string& name) const;

  NewAdapterOptions options_;
  Adapter adapter_;
  std::set<std::string> choices_;  // names of projections in a layer, "attn_q"
};

}  // namespace hearth::models
