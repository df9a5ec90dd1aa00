// What a matrix product does to its result before it stores it.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/implementation.h"

namespace hearth::gpu {

// activation(a b + bias + residual), in this order.
struct MatmulEpilogue {
  enum class Activation : std::uint8_t { none, relu, gelu_tanh };
  int bias = -1;      // input with one number for each column; -1: none
  int residual = -1;  // input like the result
  Activation activation = Activation::none;
};

// Signature::epilogue of a product as the above; empty where it is something else.
std::optional<MatmulEpilogue> matmul_epilogue(const Signature& signature);
// Whether it is a sum with a dense operand like the result, element by element.
bool fuses_dense_sum(const Signature& signature);

}  // namespace hearth::gpu
