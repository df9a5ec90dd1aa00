// Attention whose weights are at hand, for layers that drop or return them.
#pragma once

#include "hearth/ops/attention.h"

namespace hearth::nn_detail {

struct Weighed {
  Array mixed;    // [batch, heads, rows, dv]
  Array weights;  // [batch, heads, rows, length], as they were used
};

// attention() and its weights, of which each is dropped with `probability`. Of kv_length keys there
// are as many weights. A mask and a bias may be as long as k or as kv_length.
Weighed attention_by_weights(const Array& q, const Array& k, const Array& v,
                             const AttentionOptions& options, double probability);

}  // namespace hearth::nn_detail
