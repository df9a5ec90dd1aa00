// y = x w^T of any float dtype, with bits of a row that depend on that row only, batched. Text of
// the kernel dialect.
//
// x [batch, rows, k], w [batch, outputs, k], y [batch, rows, outputs] dense; the others have
// strides of their own. A simdgroup makes kOutputs outputs of kRows rows: a lane takes every 32nd
// packet of 16 bytes of a line, kHold of them on the way, and adds up their products in one chain
// for each result; lanes are added up in halves. So the order is that of k, whatever rows and
// outputs a simdgroup has. kWide: lines of x and w are whole packets, at multiples of 16 bytes.
//
// Memory: weights once for kRows rows. Bound by it for few rows; for many by the nearest cache.

#include "kernels/blocks/rows.h"
#include "kernels/matmul/params.h"

template <typename D, bool kWide>
HEARTH_INLINE Packet<16> load_line(device const typename D::memory* line, int at, int length,
                                   long step) {
  const int kCount = InPacket<D>::count;
  Packet<16> made;
  if (kWide) {
    if (at < length) return Packet<16>::read(line + at);
#pragma unroll
    for (int i = 0; i < 4; ++i) made.word[i] = 0u;
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      D::put(made.word, i,
             at + i < length ? D::load(line[long(at + i) * step]) : typename D::value(0));
    }
  }
  return made;
}

template <typename D, int kOutputs, int kRows, int kHold, bool kWide, int kRank>
void matmul_row_lanes(device const typename D::memory* x, device const typename D::memory* w,
                      device typename D::memory* y, constant RowProductParams<kRank>& p, Ctx ctx) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count, kStep = 32 * kCount;
  uint layers = uint((p.rows + kRows - 1) / kRows);
  long first_output = (long(ctx.tg.x / layers) * ctx.nsg + ctx.sg) * kOutputs;
  long first_row = long(ctx.tg.x % layers) * kRows;
  if (first_output >= p.outputs) return;
  int length = int(p.length);
  for (long batch = long(ctx.tg.y); batch < p.batches; batch += long(ctx.ntg.y)) {
    device const typename D::memory* x_at = x + offset_of<ulong, kRank>(ulong(batch), p.x);
    device const typename D::memory* w_at = w + offset_of<ulong, kRank>(ulong(batch), p.w);
    // Rows and outputs that are not there are the last ones, and not stored.
    device const typename D::memory* outputs[kOutputs];
    device const typename D::memory* rows[kRows];
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) {
      outputs[i] = w_at + metal::min(first_output + i, p.outputs - 1) * p.w_row;
    }
#pragma unroll
    for (int j = 0; j < kRows; ++j) {
      rows[j] = x_at + metal::min(first_row + j, p.rows - 1) * p.x_row;
    }
    V sum[kOutputs][kRows];
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) {
#pragma unroll
      for (int j = 0; j < kRows; ++j) sum[i][j] = V(0);
    }
#pragma unroll 1
    for (int first = int(ctx.lane) * kCount; first < length; first += kHold * kStep) {
      Packet<16> weights[kHold][kOutputs];
      Packet<16> factors[kHold][kRows];
#pragma unroll
      for (int u = 0; u < kHold; ++u) {
#pragma unroll
        for (int i = 0; i < kOutputs; ++i) {
          weights[u][i] = load_line<D, kWide>(outputs[i], first + u * kStep, length, p.w_column);
        }
#pragma unroll
        for (int j = 0; j < kRows; ++j) {
          factors[u][j] = load_line<D, kWide>(rows[j], first + u * kStep, length, p.x_column);
        }
      }
#pragma unroll
      for (int u = 0; u < kHold; ++u) {
        // A packet that is not there adds nothing, not even the sign of a 0.
        if (first + u * kStep < length) {
#pragma unroll
          for (int e = 0; e < kCount; ++e) {
#pragma unroll
            for (int i = 0; i < kOutputs; ++i) {
              V weight = D::get(weights[u][i].word, e);
#pragma unroll
              for (int j = 0; j < kRows; ++j) {
                sum[i][j] = metal::fma(weight, D::get(factors[u][j].word, e), sum[i][j]);
              }
            }
          }
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) {
#pragma unroll
      for (int j = 0; j < kRows; ++j) {
        V total = simd_row_sum(sum[i][j], 32u);
        bool there = first_output + i < p.outputs && first_row + j < p.rows;
        if (ctx.lane == 0u && there) {
          y[(batch * p.rows + first_row + j) * p.outputs + first_output + i] = D::store(total);
        }
      }
    }
  }
}
