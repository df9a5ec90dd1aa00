// Fills the op part of a tile table for one compute class: every formula of
// kernels/formulas/scalar_ops.h that exists for it. Included like tile_vector.h.

#if defined(HEARTH_TILE_FORMULAS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEARTH_TILE_FORMULAS_H
#undef HEARTH_TILE_FORMULAS_H
#else
#define HEARTH_TILE_FORMULAS_H
#endif

#include "devices/cpu/regions/formula_length.h"
#include "devices/cpu/regions/tile_loops.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {

// A formula as a type, so that loops can be made of it.
#define HEARTH_FORMULA(name)                                               \
  struct name##_formula {                                                  \
    template <class... T>                                                  \
    static HWY_INLINE auto apply(T... x) -> decltype(scalar::name(x...)) { \
      return scalar::name(x...);                                           \
    }                                                                      \
  };
#define UNARY(name) HEARTH_FORMULA(name)
#define BINARY(name) HEARTH_FORMULA(name)
#define COMPARISON(name) HEARTH_FORMULA(name)
#define LOGICAL(name) HEARTH_FORMULA(name)
#define TERNARY(name) HEARTH_FORMULA(name)
#define PREDICATE(name) HEARTH_FORMULA(name)
#include "ops/op_list.def"
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

struct fma_mul_formula {
  template <class T>
  static HWY_INLINE T apply(T a, T b, T c, T d) {
    return scalar::fma(a, b, c * d);
  }
};
struct fms_mul_formula {
  template <class T>
  static HWY_INLINE T apply(T a, T b, T c, T d) {
    return scalar::fma(a, b, -(c * d));
  }
};
struct nmul_formula {
  template <class T>
  static HWY_INLINE T apply(T a, T b) {
    return -(a * b);
  }
};

template <class L>
inline constexpr int kClassOf = static_cast<int>(compute_class(dtype_of_v<L>));

template <TileOp kOp>
inline constexpr bool kIsShort = formula_length(kOp) <= kShortFormula;
template <class L>
inline constexpr int kShortUnroll = !std::is_floating_point_v<L>            ? 1
                                    : HEARTH_NATIVE_MASKS && sizeof(L) == 4 ? 4
                                                                            : 2;

template <TileOp kOp, class F, class L>
void set_double(TileTable& table) {
  auto& forms = table.op[static_cast<int>(kOp)][kClassOf<L>];
  forms[0] = map4<F, L, 0, 2>;
  forms[2] = map4<F, L, 2, 2>;
  forms[8] = map4<F, L, 8, 2>;
  forms[10] = map4<F, L, 10, 2>;
}

template <TileOp kOp, class F, class L>
void set_unary(TileTable& table) {
  if constexpr (requires(Vec<L> x) { F::apply(x); }) {
    TileFunction& form = table.op[static_cast<int>(kOp)][kClassOf<L>][0];
    if constexpr (std::is_floating_point_v<L> && !kIsShort<kOp>) {
      form = map_wide<F, L, 1>;
    } else {
      form = map1<F, L, 0, 1>;
    }
  }
}
template <TileOp kOp, class F, class L>
void set_binary(TileTable& table) {
  if constexpr (requires(Vec<L> x) { F::apply(x, x); }) {
    auto& forms = table.op[static_cast<int>(kOp)][kClassOf<L>];
    if constexpr (kIsShort<kOp>) {
      forms[0] = map2<F, L, 0, kShortUnroll<L>>;
      forms[1] = map2<F, L, 1, kShortUnroll<L>>;
      forms[2] = map2<F, L, 2, kShortUnroll<L>>;
    } else if constexpr (std::is_floating_point_v<L>) {
      forms[0] = map_wide<F, L, 2>;
    } else {
      forms[0] = map2<F, L, 0, 1>;
    }
  }
}
template <TileOp kOp, class F, class L>
void set_comparison(TileTable& table) {
  auto& forms = table.op[static_cast<int>(kOp)][kClassOf<L>];
  forms[0] = map2<F, L, 0, 1>;
  forms[2] = map2<F, L, 2, 1>;
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
    forms[0] = map3<F, L, 0, 1>;
    if constexpr (kOp == TileOp::lerp) forms[4] = map3<F, L, 4, kShortUnroll<L>>;
    forms[6] = map3<F, L, 6, 1>;
  }
}
template <TileOp kOp, class F, class L>
void set_fused(TileTable& table) {
  auto& forms = table.op[static_cast<int>(kOp)][kClassOf<L>];
  forms[0] = map3<F, L, 0, kShortUnroll<L>>;
  forms[2] = map3<F, L, 2, kShortUnroll<L>>;
  forms[4] = map3<F, L, 4, kShortUnroll<L>>;
  forms[6] = map3<F, L, 6, kShortUnroll<L>>;
}

template <class L>
void fill_ops(TileTable& table) {
#define UNARY(name) set_unary<TileOp::name, name##_formula, L>(table);
#define BINARY(name) set_binary<TileOp::name, name##_formula, L>(table);
#define COMPARISON(name) set_comparison<TileOp::name, name##_formula, L>(table);
#define TERNARY(name) set_ternary<TileOp::name, name##_formula, L>(table);
#define PREDICATE(name) set_unary<TileOp::name, name##_formula, L>(table);
#include "ops/op_list.def"
  if constexpr (std::is_same_v<L, std::int32_t>) {
#define LOGICAL(name) set_logical<TileOp::name, name##_formula, L>(table);
#include "ops/op_list.def"
  }
  if constexpr (std::is_floating_point_v<L>) {
    set_fused<TileOp::fma, fma_formula, L>(table);
    set_fused<TileOp::fms, fms_formula, L>(table);
    set_fused<TileOp::fnma, fnma_formula, L>(table);
    set_double<TileOp::fma_mul, fma_mul_formula, L>(table);
    set_double<TileOp::fms_mul, fms_mul_formula, L>(table);
    auto& nmul = table.op[static_cast<int>(TileOp::nmul)][kClassOf<L>];
    nmul[0] = map2<nmul_formula, L, 0, kShortUnroll<L>>;
    nmul[2] = map2<nmul_formula, L, 2, kShortUnroll<L>>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#endif  // HEARTH_TILE_FORMULAS_H
