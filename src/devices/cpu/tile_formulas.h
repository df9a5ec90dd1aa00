// Fills the op part of a tile table for one compute class: every formula of kernels/scalar_ops.h that
// exists for it. Included like tile_vector.h.

#if defined(HEARTH_TILE_FORMULAS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEARTH_TILE_FORMULAS_H
#undef HEARTH_TILE_FORMULAS_H
#else
#define HEARTH_TILE_FORMULAS_H
#endif

#include "devices/cpu/tile_vector.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {

// A formula as a type, so that loops can be made of it.
#define HEARTH_FORMULA(name)                                                     \
  struct name##_formula {                                                        \
    template <class... T>                                                        \
    static HWY_INLINE auto apply(T... x) -> decltype(scalar::name(x...)) {       \
      return scalar::name(x...);                                                 \
    }                                                                            \
  };
#define UNARY(name) HEARTH_FORMULA(name)
#define BINARY(name) HEARTH_FORMULA(name)
#define COMPARISON(name) HEARTH_FORMULA(name)
#define LOGICAL(name) HEARTH_FORMULA(name)
#define TERNARY(name) HEARTH_FORMULA(name)
#include "ops/op_list.def"
HEARTH_FORMULA(logical_not)
HEARTH_FORMULA(is_nan)
#undef HEARTH_FORMULA

struct fma_formula {
  template <class T>
  static HWY_INLINE T apply(T a, T b, T c) {
    return scalar::fma(a, b, c);
  }
};
struct fms_formula {
  template <class T>
  static HWY_INLINE T apply(T a, T b, T c) {
    return scalar::fma(a, b, -c);
  }
};
struct fnma_formula {
  template <class T>
  static HWY_INLINE T apply(T a, T b, T c) {
    return scalar::fma(-a, b, c);
  }
};

template <class L>
inline constexpr int kClassOf = std::is_same_v<L, float>          ? 0
                                : std::is_same_v<L, double>       ? 1
                                : std::is_same_v<L, std::int32_t> ? 2
                                : std::is_same_v<L, std::int64_t> ? 3
                                                                  : 4;

// Cheap formulas are bound by the loop around them, long ones by their own arithmetic.
constexpr int unroll_of(TileOp op) {
  switch (op) {
    case TileOp::neg:
    case TileOp::abs:
    case TileOp::square:
    case TileOp::relu:
    case TileOp::add:
    case TileOp::sub:
    case TileOp::mul:
    case TileOp::maximum:
    case TileOp::minimum:
    case TileOp::fma:
    case TileOp::fms:
    case TileOp::fnma:
      return 4;
    default:
      return 1;
  }
}

template <TileOp kOp, class F, class L>
void set_unary(TileTable& table) {
  if constexpr (requires(Vec<L> x) { F::apply(x); }) {
    table.op[static_cast<int>(kOp)][kClassOf<L>][0] = map1<F, L, 0, unroll_of(kOp)>;
  }
}
template <TileOp kOp, class F, class L>
void set_binary(TileTable& table) {
  if constexpr (requires(Vec<L> x) { F::apply(x, x); }) {
    auto& forms = table.op[static_cast<int>(kOp)][kClassOf<L>];
    forms[0] = map2<F, L, 0, unroll_of(kOp)>;
    forms[1] = map2<F, L, 1, unroll_of(kOp)>;
    forms[2] = map2<F, L, 2, unroll_of(kOp)>;
  }
}
template <TileOp kOp, class F, class L>
void set_logical(TileTable& table) {
  if constexpr (requires(Vec<L> x) { F::apply(x, x); }) {
    table.op[static_cast<int>(kOp)][kClassOf<L>][0] = map2<F, L, 0, 1>;
  }
}
template <TileOp kOp, class F, class L>
void set_ternary(TileTable& table) {
  auto& forms = table.op[static_cast<int>(kOp)][kClassOf<L>];
  if constexpr (kOp == TileOp::where) {
    forms[0] = map_where<L, 0>;
    forms[2] = map_where<L, 2>;
    forms[4] = map_where<L, 4>;
    forms[6] = map_where<L, 6>;
  } else if constexpr (requires(Vec<L> x) { F::apply(x, x, x); }) {
    forms[0] = map3<F, L, 0, unroll_of(kOp)>;
    forms[6] = map3<F, L, 6, unroll_of(kOp)>;
  }
}
template <TileOp kOp, class F, class L>
void set_fused(TileTable& table) {
  auto& forms = table.op[static_cast<int>(kOp)][kClassOf<L>];
  forms[0] = map3<F, L, 0, 4>;
  forms[2] = map3<F, L, 2, 4>;
  forms[4] = map3<F, L, 4, 4>;
  forms[6] = map3<F, L, 6, 4>;
}

template <class L>
void fill_ops(TileTable& table) {
#define UNARY(name) set_unary<TileOp::name, name##_formula, L>(table);
#define BINARY(name) set_binary<TileOp::name, name##_formula, L>(table);
#define COMPARISON(name) set_binary<TileOp::name, name##_formula, L>(table);
#define TERNARY(name) set_ternary<TileOp::name, name##_formula, L>(table);
#include "ops/op_list.def"
  if constexpr (std::is_same_v<L, std::int32_t>) {
#define LOGICAL(name) set_logical<TileOp::name, name##_formula, L>(table);
#include "ops/op_list.def"
    set_unary<TileOp::logical_not, logical_not_formula, L>(table);
  }
  set_unary<TileOp::is_nan, is_nan_formula, L>(table);
  if constexpr (std::is_floating_point_v<L>) {
    set_fused<TileOp::fma, fma_formula, L>(table);
    set_fused<TileOp::fms, fms_formula, L>(table);
    set_fused<TileOp::fnma, fnma_formula, L>(table);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#endif  // HEARTH_TILE_FORMULAS_H
