// Activations, element by element, and softmax. Rules for all functions: hearth/ops.h.
#pragma once

#include <cstdint>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Activations made of others
// Float dtypes only; NaN stays NaN, infinities give limits. Where branches meet, gradients are
// PyTorch's: 0 at the bounds of hardtanh, relu6, hard_sigmoid and the shrinks, else a branch's.

// x where x > 0, else negative_slope * x.
HEARTH_API Array leaky_relu(const Array& x, double negative_slope = 0.01);
// leaky_relu with slopes that are learned: weight [] or [1], [channels] beside x [batch, channels,
// ...] or x [channels], or of more axes, which broadcast to x.
HEARTH_API Array prelu(const Array& x, const Array& weight);
HEARTH_API Array elu(const Array& x, double alpha = 1);  // x where x > 0, else alpha (e^x - 1)
// x where x > 0, else alpha (e^(x / alpha) - 1), for a positive alpha.
HEARTH_API Array celu(const Array& x, double alpha = 1);
// 1.0507 elu(x, 1.6733), with all digits of both numbers (Klambauer et al. 2017).
HEARTH_API Array selu(const Array& x);
// alpha * x + beta within [0, 1]. The default alpha is Burn's; PyTorch's is 1 / 6.
HEARTH_API Array hard_sigmoid(const Array& x, double alpha = 0.2, double beta = 0.5);
HEARTH_API Array hard_swish(const Array& x);  // x * relu6(x + 3) / 6
// x where |x| > lambda, else 0, for a lambda of 0 or more.
HEARTH_API Array hard_shrink(const Array& x, double lambda = 0.5);
// x - lambda * sign(x) where |x| > lambda, else 0, for a lambda of 0 or more.
HEARTH_API Array soft_shrink(const Array& x, double lambda = 0.5);
// x - bias * sign(x) where |x| > lambda, else 0, for a lambda of 0 or more.
HEARTH_API Array shrink(const Array& x, double lambda = 0.5, double bias = 0);
HEARTH_API Array thresholded_relu(const Array& x, double alpha = 1);  // x where x > alpha, else 0
// x where x > limit, else value.
HEARTH_API Array threshold(const Array& x, double limit, double value);
// log(1 + e^(beta x)) / beta without overflow, for a positive beta.
HEARTH_API Array softplus(const Array& x, double beta = 1);
HEARTH_API Array softsign(const Array& x);     // x / (1 + |x|)
HEARTH_API Array mish(const Array& x);         // x * tanh(softplus(x))
HEARTH_API Array log_sigmoid(const Array& x);  // log(sigmoid(x)) without overflow
// x limited to [low, high].
HEARTH_API Array hardtanh(const Array& x, double low = -1, double high = 1);
HEARTH_API Array relu6(const Array& x);  // x limited to [0, 6]
// The first half along `axis` times the sigmoid of the second; its extent is even.
HEARTH_API Array glu(const Array& x, std::int64_t axis = -1);
HEARTH_API Array tanhshrink(const Array& x);  // x - tanh(x)

// ---- Softmax
// Along one axis.

// Float dtypes, shifted by the maximum, so nothing overflows. As with sum(), the error does not
// grow with the length of the axis: sums of 10^7 elements of f32 are right to about 1e-6.
HEARTH_API Array softmax(const Array& x, std::int64_t axis = -1);
HEARTH_API Array log_softmax(const Array& x, std::int64_t axis = -1);
HEARTH_API Array logsumexp(const Array& x, std::int64_t axis = -1, bool keepdim = false);
HEARTH_API Array softmin(const Array& x, std::int64_t axis = -1);  // softmax(-x)
// e^x / (1 + the sum of e^x): softmax beside one more 0, so that all may be small.
HEARTH_API Array quiet_softmax(const Array& x, std::int64_t axis = -1);

}  // namespace v0
}  // namespace hearth
