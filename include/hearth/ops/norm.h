// Normalisation of rows and of channels. Rules for all functions: hearth/ops.h.
#pragma once

#include <cstdint>
#include <tuple>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Normalisation

// Over the last axis, biased variance; weight [dim] and bias [dim] may be undefined. Mean and
// variance are as exact as sum() for rows of any length, however far from zero.
HEARTH_API Array layer_norm(const Array& x, const Array& weight = Array(),
                            const Array& bias = Array(), double epsilon = 1e-5);
// x / sqrt(mean(x^2) + epsilon) over the last axis, times weight [dim] if defined. The default
// epsilon is Burn's; PyTorch's is the machine epsilon of x's dtype.
HEARTH_API Array rms_norm(const Array& x, const Array& weight = Array(), double epsilon = 1e-5);

// x / sqrt(sum(x^2) + epsilon) over the last axis: rows of length 1, as linear attention has its
// queries and keys. vector_normalize() limits the length instead.
HEARTH_API Array l2_norm(const Array& x, double epsilon = 1e-6);

// ---- Normalisation of channels
// x [batch, channels, ...], of rank 2 or more; results have its shape and dtype. Vectors [channels]
// may be undefined where they have a default, and have the dtype of x or, beside halves, f32.
// Variances are biased, and as exact as those of layer_norm.

// (x - mean) / sqrt(variance + epsilon) * weight + bias, with the statistics given.
HEARTH_API Array batch_norm(const Array& x, const Array& mean, const Array& variance,
                            const Array& weight = Array(), const Array& bias = Array(),
                            double epsilon = 1e-5);
// batch_norm with the mean and the variance of x itself, over all axes but that of channels; then
// these two, [channels], of halves in f32, which are differentiated too. Of a channel without
// elements they are NaN.
HEARTH_API std::tuple<Array, Array, Array> batch_norm_train(const Array& x,
                                                            const Array& weight = Array(),
                                                            const Array& bias = Array(),
                                                            double epsilon = 1e-5);
// batch_norm with statistics of its own for each sample and each of `groups` runs of channels that
// follow one another.
HEARTH_API Array group_norm(const Array& x, std::int64_t groups, const Array& weight = Array(),
                            const Array& bias = Array(), double epsilon = 1e-5);
// group_norm with a group for each channel.
HEARTH_API Array instance_norm(const Array& x, const Array& weight = Array(),
                               const Array& bias = Array(), double epsilon = 1e-5);
// x / (k + alpha / size * sum of x^2)^beta, the sum over `size` channels about each, of which
// size / 2 stand before it; those that are not there count as 0 (Krizhevsky et al. 2012).
HEARTH_API Array local_response_norm(const Array& x, std::int64_t size, double alpha = 1e-4,
                                     double beta = 0.75, double k = 1);

}  // namespace v0
}  // namespace hearth
