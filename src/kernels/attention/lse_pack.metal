// The logarithms of rows' sums between f32 and two numbers of a dtype that add up to them: x is high
// + low with high the nearest number of the dtype, which keeps twice its digits. Text of the kernel
// dialect.

#include "kernels/blocks/elements.h"

struct SumsParams {
  long count;
};

// A sum that is not finite belongs to a row that sees no key.
template <typename D>
void split_sums(device const float* sums, device typename D::memory* parts, constant SumsParams& p,
                Ctx ctx) {
  long i = long(ctx.gid.x);
  if (i >= p.count) return;
  float sum = metal::isfinite(sums[i]) ? sums[i] : 0.0f;
  typename D::memory high = D::store(sum);
  parts[i] = high;
  parts[p.count + i] = D::store(sum - D::load(high));
}

template <typename D>
void join_sums(device const typename D::memory* parts, device float* sums, constant SumsParams& p,
               Ctx ctx) {
  long i = long(ctx.gid.x);
  if (i < p.count) sums[i] = D::load(parts[i]) + D::load(parts[p.count + i]);
}
