// A convolution, its gradient for x and that for its weight as c = a b, a product for each group
// whose factor b is gathered. Text of the kernel dialect.
//
//                  m         n = (outer; axes)            k = (outer; axes)
//   conv           outputs   (batch; positions)           (inputs; kernel)
//   for x          inputs    (batch; extents of a class)  (outputs; kernel of the class)
//   for weight     outputs   (inputs; kernel)             (batch; positions)
//
// Along each axis the coordinate in what b is gathered from is first + k_move * (row's index) +
// n_move * (column's index); what lies outside its extent is 0 and never read. a is the weight, or
// the gradient of the result where that of the weight is wanted.
//
// With a stride, elements of x fall into classes by their place within it, and each class meets
// every stride-th element of the kernel: each is a product of its own, so that no zero between
// elements is multiplied. A class has other moves: ConvClass.
//
// conv_tiles: 16 x 16 threads make a tile of kTileM x kTileN in registers; slices of kDepth of k go
// through threadgroup memory, and so do the addresses of their rows and columns, which are worked
// out once for each: an element costs an addition and a comparison for each axis. Bound: arithmetic
// of the general ALUs. Where there are too few tiles, shares of k are summed side by side, and
// conv_join adds them in order.
//
// conv_direct: an element of c a thread, for groups of few outputs; neighbours read neighbours.
// conv_lines: an element of c a threadgroup, for the weights of such groups: long sums, few of
// them.
//
// Numerics: products and sums in A (f32, f64 of f64) by fma, k in ascending order; conv_lines sums
// by thread and then by halves. The result is rounded once.

#include "kernels/conv/params.h"

inline float multiply_add(float a, float b, float c) { return metal::fma(a, b, c); }
#if HEARTH_HAS_F64
inline double multiply_add(double a, double b, double c) { return metal::fma(a, b, c); }
#endif

// What one product of a group multiplies.
template <int kAxes>
struct ConvClass {
  int first[kAxes], k_extent[kAxes], n_extent[kAxes];
  int k, n;
  long a_base, c_base;
};

template <int kAxes, bool kClasses>
inline ConvClass<kAxes> conv_class(uint index, constant ConvParams& p) {
  ConvClass<kAxes> of;
  of.k = int(p.k_outer);
  of.n = int(p.n_outer);
  of.a_base = p.a_base;
  of.c_base = 0;
#pragma unroll
  for (int axis = kAxes - 1; axis >= 0; --axis) {
    of.first[axis] = int(p.first[axis]);
    of.k_extent[axis] = int(p.k_extent[axis]);
    of.n_extent[axis] = int(p.n_extent[axis]);
    if (kClasses) {
      long stride = p.classes.stride[axis], dilation = p.classes.dilation[axis];
      long move = p.classes.kernel_move[axis];
      // The first element of x, and the first of the kernel that any position brings to it.
      int at = int(index % uint(p.classes.count[axis])), met = 0;
      index /= uint(p.classes.count[axis]);
      long reach = long(at) + p.classes.padding[axis];
      int tried = int(metal::min(move, p.classes.kernel_extent[axis]));
      while (met < tried && (reach - met * dilation) % stride != 0) ++met;
      bool exists = met < tried;
      of.first[axis] = exists ? int((reach - met * dilation) / stride) : 0;
      of.k_extent[axis] = exists ? int((p.classes.kernel_extent[axis] - met + move - 1) / move) : 0;
      of.n_extent[axis] = int((p.classes.result_extent[axis] - at + stride - 1) / stride);
      of.a_base += met * p.classes.kernel_step[axis];
      of.c_base += at * p.classes.result_step[axis];
    }
    of.k *= of.k_extent[axis];
    of.n *= of.n_extent[axis];
  }
  return of;
}

// Where index `i` of k or n is on each axis; what is left is the outer index.
template <int kAxes>
inline int conv_place(int i, thread const int* extent, thread int* at) {
#pragma unroll
  for (int axis = kAxes - 1; axis >= 0; --axis) {
    uint next = uint(i) / uint(extent[axis]);
    at[axis] = i - int(next) * extent[axis];
    i = int(next);
  }
  return i;
}

// Of threadgroup z: which product it is of, and which share of k it sums.
struct ConvTurn {
  uint group, index, share;
};
template <int kAxes, bool kClasses>
inline uint conv_classes(constant ConvParams& p) {
  uint classes = 1u;
  if (kClasses) {
#pragma unroll
    for (int axis = 0; axis < kAxes; ++axis) classes *= uint(p.classes.count[axis]);
  }
  return classes;
}
inline ConvTurn conv_turn(uint z, uint classes, uint shares) {
  ConvTurn turn;
  turn.share = z % shares;
  turn.index = z / shares % classes;
  turn.group = z / shares / classes;
  return turn;
}

// O is what is stored: T, or A where shares are. I holds the address of every element.
template <typename T, typename A, typename O, typename I, int kAxes, int kTileM, int kTileN,
          bool kClasses, bool kBias>
void conv_tiles(device const T* a, device const T* b, device const T* bias, device O* c,
                constant ConvParams& p, threadgroup A* a_tile, threadgroup A* b_tile,
                threadgroup I* spots, threadgroup int* places, Ctx ctx) {
  const int kDepth = 16, kThreads = 256, kPartM = kTileM / 16, kPartN = kTileN / 16;
  // Addresses of columns, then those of two slices of rows, in b and in a; coordinates likewise.
  threadgroup I* column_spot = spots;
  threadgroup I* row_spot = spots + kTileN;
  threadgroup I* a_spot = row_spot + 2 * kDepth;
  threadgroup int* column_place = places;
  threadgroup int* row_place = places + kAxes * kTileN;
  int thread_index = int(ctx.tid.x), thread_row = thread_index / 16, thread_col = thread_index % 16;
  int row = int(ctx.tg.y) * kTileM, col = int(ctx.tg.x) * kTileN, m = int(p.m);
  bool along_k = p.b_along_k != 0;
  uint classes = conv_classes<kAxes, kClasses>(p), shares = uint(p.shares);
  uint turns = uint(p.groups) * classes * shares;

  for (uint z = ctx.tg.z; z < turns; z += ctx.ntg.z) {
    ConvTurn turn = conv_turn(z, classes, shares);
    ConvClass<kAxes> of = conv_class<kAxes, kClasses>(turn.index, p);
    if (col >= of.n) continue;
    int begin = int(metal::min(long(turn.share) * p.length, long(of.k)));
    int end = int(metal::min(begin + p.length, long(of.k)));
    device const T* a_at = a + of.a_base + long(turn.group) * p.a_group;
    device const T* b_at = b + p.b_base + long(turn.group) * p.b_group;

    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int j = thread_index; j < kTileN; j += kThreads) {
      int at[kAxes];
      I spot =
          I(conv_place<kAxes>(metal::min(col + j, of.n - 1), of.n_extent, at)) * I(p.b_n_outer);
#pragma unroll
      for (int axis = 0; axis < kAxes; ++axis) {
        int place = of.first[axis] + at[axis] * int(p.n_move[axis]);
        column_place[axis * kTileN + j] = place;
        spot += I(place) * I(p.b_step[axis]);
      }
      column_spot[j] = spot;
    }
    A sum[kPartM][kPartN];
#pragma unroll
    for (int i = 0; i < kPartM; ++i) {
#pragma unroll
      for (int j = 0; j < kPartN; ++j) sum[i][j] = A(0);
    }
    // Addresses are worked out one slice ahead, those of the first before it.
    for (int k0 = begin - kDepth, slice = 1; k0 < end; k0 += kDepth, slice ^= 1) {
      if (k0 >= begin) {
        threadgroup I* rows = row_spot + slice * kDepth;
        threadgroup I* weights = a_spot + slice * kDepth;
        for (int at = thread_index; at < kTileM * kDepth; at += kThreads) {
          int i = at / kDepth, q = at % kDepth;
          bool inside = row + i < m && k0 + q < end;
          a_tile[q * kTileM + i] =
              inside ? A(a_at[long(row + i) * p.a_m + long(weights[q])]) : A(0);
        }
#pragma unroll
        for (int at = thread_index; at < kTileN * kDepth; at += kThreads) {
          int j = along_k ? at / kDepth : at % kTileN;
          int q = along_k ? at % kDepth : at / kTileN;
          bool inside = col + j < of.n && k0 + q < end;
#pragma unroll
          for (int axis = 0; axis < kAxes; ++axis) {
            int place =
                column_place[axis * kTileN + j] + row_place[(slice * kAxes + axis) * kDepth + q];
            inside = inside && place >= 0 && place < int(p.extent[axis]);
          }
          b_tile[q * kTileN + j] = inside ? A(b_at[long(column_spot[j] + rows[q])]) : A(0);
        }
      }
      int next = k0 + kDepth + thread_index;
      if (thread_index < kDepth && begin < end) {
        int at[kAxes], other = 1 - slice;
        I outer = I(conv_place<kAxes>(metal::min(next, end - 1), of.k_extent, at));
        I spot = outer * I(p.b_k_outer), weight = outer * I(p.a_outer);
#pragma unroll
        for (int axis = 0; axis < kAxes; ++axis) {
          int place = at[axis] * int(p.k_move[axis]);
          row_place[(other * kAxes + axis) * kDepth + thread_index] = place;
          spot += I(place) * I(p.b_step[axis]);
          weight += I(at[axis]) * I(p.a_step[axis]);
        }
        row_spot[other * kDepth + thread_index] = spot;
        a_spot[other * kDepth + thread_index] = weight;
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (k0 < begin) continue;
      for (int q = 0; q < kDepth; ++q) {
        A left[kPartM], right[kPartN];
#pragma unroll
        for (int i = 0; i < kPartM; ++i) left[i] = a_tile[q * kTileM + thread_row + 16 * i];
#pragma unroll
        for (int j = 0; j < kPartN; ++j) right[j] = b_tile[q * kTileN + thread_col + 16 * j];
#pragma unroll
        for (int i = 0; i < kPartM; ++i) {
#pragma unroll
          for (int j = 0; j < kPartN; ++j) sum[i][j] = multiply_add(left[i], right[j], sum[i][j]);
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    device O* to = c + of.c_base + long(turn.group) * p.c_group + long(turn.share) * p.count;
#pragma unroll
    for (int j = 0; j < kPartN; ++j) {
      int column = col + thread_col + 16 * j;
      if (column >= of.n) continue;
      int at[kAxes];
      long spot = long(conv_place<kAxes>(column, of.n_extent, at)) * p.c_outer;
#pragma unroll
      for (int axis = 0; axis < kAxes; ++axis) spot += at[axis] * p.c_step[axis];
#pragma unroll
      for (int i = 0; i < kPartM; ++i) {
        int line = row + thread_row + 16 * i;
        if (line >= m) continue;
        A value = sum[i][j];
        if (kBias)
          value = value + A(bias[p.bias_base + (long(turn.group) * m + line) * p.bias_step]);
        to[spot + line * p.c_m] = O(value);
      }
    }
  }
}

template <typename T, typename A, typename I, int kAxes, bool kClasses, bool kBias>
void conv_direct(device const T* a, device const T* b, device const T* bias, device T* c,
                 constant ConvParams& p, Ctx ctx) {
  uint classes = conv_classes<kAxes, kClasses>(p), turns = uint(p.groups) * classes;
  int line = int(ctx.tg.y), channels = int(p.k_outer);
  I a_outer = I(p.a_outer), b_outer = I(p.b_k_outer);
  // Missing axes have one element.
  int move[3] = {0, 0, 0}, most[3] = {1, 1, 1};
  I a_step[3] = {I(0), I(0), I(0)}, b_step[3] = {I(0), I(0), I(0)};
#pragma unroll
  for (int axis = 0; axis < kAxes; ++axis) {
    move[axis] = int(p.k_move[axis]);
    most[axis] = int(p.extent[axis]);
    a_step[axis] = I(p.a_step[axis]);
    b_step[axis] = I(p.b_step[axis]);
  }
  for (uint z = ctx.tg.z; z < turns; z += ctx.ntg.z) {
    ConvTurn turn = conv_turn(z, classes, 1u);
    ConvClass<kAxes> of = conv_class<kAxes, kClasses>(turn.index, p);
    if (int(ctx.gid.x) >= of.n) continue;
    int at[3] = {0, 0, 0}, first[3] = {0, 0, 0}, extent[3] = {1, 1, 1};
    int outer = conv_place<kAxes>(int(ctx.gid.x), of.n_extent, at);
    long spot = of.c_base + long(turn.group) * p.c_group + outer * p.c_outer + line * p.c_m;
#pragma unroll
    for (int axis = 0; axis < kAxes; ++axis) {
      spot += at[axis] * p.c_step[axis];
      first[axis] = of.first[axis] + at[axis] * int(p.n_move[axis]);
      extent[axis] = of.k_extent[axis];
    }
    device const T* a_at = a + of.a_base + long(turn.group) * p.a_group + line * p.a_m;
    device const T* b_at = b + p.b_base + long(turn.group) * p.b_group + outer * p.b_n_outer;
    A sum = A(0);
    for (int channel = 0; channel < channels; ++channel) {
      int place0 = first[0];
      I weight0 = I(0);
      for (int x = 0; x < extent[0]; ++x, place0 += move[0], weight0 += a_step[0]) {
        if (place0 < 0 || place0 >= most[0]) continue;
        int place1 = first[1];
        I weight1 = weight0;
        for (int y = 0; y < extent[1]; ++y, place1 += move[1], weight1 += a_step[1]) {
          if (place1 < 0 || place1 >= most[1]) continue;
          I row = I(place0) * b_step[0] + I(place1) * b_step[1];
          int place2 = first[2];
          I weight2 = weight1;
          for (int w = 0; w < extent[2]; ++w, place2 += move[2], weight2 += a_step[2]) {
            if (place2 < 0 || place2 >= most[2]) continue;
            sum = multiply_add(A(a_at[long(weight2)]), A(b_at[long(row + I(place2) * b_step[2])]),
                               sum);
          }
        }
      }
      a_at += a_outer;
      b_at += b_outer;
    }
    if (kBias) {
      sum = sum + A(bias[p.bias_base + (long(turn.group) * p.m + line) * p.bias_step]);
    }
    c[spot] = T(sum);
  }
}

template <typename T, typename A, typename I, int kAxes>
void conv_lines(device const T* a, device const T* b, device T* c, constant ConvParams& p,
                threadgroup A* sums, Ctx ctx) {
  const int kThreads = 256;
  ConvClass<kAxes> of = conv_class<kAxes, false>(0u, p);
  int move[kAxes], most[kAxes];
  I a_step[kAxes], b_step[kAxes];
#pragma unroll
  for (int axis = 0; axis < kAxes; ++axis) {
    move[axis] = int(p.k_move[axis]);
    most[axis] = int(p.extent[axis]);
    a_step[axis] = I(p.a_step[axis]);
    b_step[axis] = I(p.b_step[axis]);
  }
  I a_outer = I(p.a_outer), b_outer = I(p.b_k_outer);
  uint lines = uint(p.groups) * uint(p.m) * uint(of.n);
  for (uint line = ctx.tg.x; line < lines; line += ctx.ntg.x) {
    int column = int(line % uint(of.n)), row = int(line / uint(of.n) % uint(p.m));
    long group = long(line / uint(of.n) / uint(p.m));
    int at[kAxes], first[kAxes];
    long outer = conv_place<kAxes>(column, of.n_extent, at);
    long spot = group * p.c_group + row * p.c_m + outer * p.c_outer;
#pragma unroll
    for (int axis = 0; axis < kAxes; ++axis) {
      spot += at[axis] * p.c_step[axis];
      first[axis] = of.first[axis] + at[axis] * int(p.n_move[axis]);
    }
    device const T* a_at = a + p.a_base + group * p.a_group + row * p.a_m;
    device const T* b_at = b + p.b_base + group * p.b_group + outer * p.b_n_outer;
    A sum = A(0);
    for (int i = int(ctx.tid.x); i < of.k; i += kThreads) {
      I step = I(conv_place<kAxes>(i, of.k_extent, at));
      I weight = step * a_outer, value = step * b_outer;
      bool inside = true;
#pragma unroll
      for (int axis = 0; axis < kAxes; ++axis) {
        int place = first[axis] + at[axis] * move[axis];
        inside = inside && place >= 0 && place < most[axis];
        weight += I(at[axis]) * a_step[axis];
        value += I(place) * b_step[axis];
      }
      if (inside) sum = multiply_add(A(a_at[long(weight)]), A(b_at[long(value)]), sum);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sums[ctx.tid.x] = sum;
    for (uint half_of = kThreads / 2; half_of > 0u; half_of /= 2u) {
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (ctx.tid.x < half_of) sums[ctx.tid.x] = sums[ctx.tid.x] + sums[ctx.tid.x + half_of];
    }
    if (ctx.tid.x == 0u) c[spot] = T(sums[0]);
  }
}

// c = c + bias, one element a thread.
template <typename T, typename A>
void conv_bias(device T* c, device const T* bias, constant ConvJoinParams& p, Ctx ctx) {
  long at = long(ctx.gid.x);
  if (at >= p.count) return;
  c[at] = T(A(c[at]) + A(bias[p.bias_base + at / p.inner % p.channels * p.bias_step]));
}

// c = the sum of the shares, and bias; one element a thread.
template <typename T, typename A, bool kBias>
void conv_join(device const A* parts, device const T* bias, device T* c, constant ConvJoinParams& p,
               Ctx ctx) {
  long at = long(ctx.gid.x);
  if (at >= p.count) return;
  A value = parts[at];
  for (long share = 1; share < p.shares; ++share) value = value + parts[share * p.count + at];
  if (kBias) value = value + A(bias[p.bias_base + at / p.inner % p.channels * p.bias_step]);
  c[at] = T(value);
}
