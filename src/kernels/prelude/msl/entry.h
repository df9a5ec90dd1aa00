// The arguments of the entry points of texts in Metal's own form.

// The type of a function's parameter, without pointer, reference and const.
template <int kIndex, class Function>
struct EntryParameter;
template <class First, class... Rest>
struct EntryParameter<0, void(First, Rest...)> {
  typedef First type;
};
template <int kIndex, class First, class... Rest>
  requires(kIndex > 0)
struct EntryParameter<kIndex, void(First, Rest...)> : EntryParameter<kIndex - 1, void(Rest...)> {};
template <class T>
struct EntryValue {
  typedef T type;
};
template <class T>
struct EntryValue<const T> : EntryValue<T> {};
template <class T>
struct EntryValue<volatile T> : EntryValue<T> {};
template <class T>
struct EntryValue<const volatile T> : EntryValue<T> {};
template <class T>
struct EntryValue<T*> : EntryValue<T> {};
template <class T>
struct EntryValue<T&> : EntryValue<T> {};
template <int kIndex, class Function>
using entry_value = typename EntryValue<typename EntryParameter<kIndex, Function>::type>::type;

// Threads of the whole grid.
struct EntryGrid {
  uint x, y, z;
};

// Where a thread is, by the names of Metal's attributes. Threadgroups at the end of a grid may
// reach beyond it: their threads there do nothing, and do not count.
struct EntryPlace {
  Ctx ctx;
  EntryGrid grid;

  bool is_there() const { return ctx.gid.x < grid.x && ctx.gid.y < grid.y && ctx.gid.z < grid.z; }
  uint3 thread_position_in_grid() const { return ctx.gid; }
  uint3 threadgroup_position_in_grid() const { return ctx.tg; }
  uint3 thread_position_in_threadgroup() const { return ctx.tid; }
  uint thread_index_in_threadgroup() const {
    return ctx.tid.x + ctx.ntid.x * (ctx.tid.y + ctx.ntid.y * ctx.tid.z);
  }
  static uint inside(uint whole, uint first, uint end) {
    return end - first < whole ? end - first : whole;
  }
  uint3 threads_per_threadgroup() const {
    return uint3(inside(ctx.ntid.x, ctx.tg.x * ctx.ntid.x, grid.x),
                 inside(ctx.ntid.y, ctx.tg.y * ctx.ntid.y, grid.y),
                 inside(ctx.ntid.z, ctx.tg.z * ctx.ntid.z, grid.z));
  }
  uint3 dispatch_threads_per_threadgroup() const { return ctx.ntid; }
  uint3 threadgroups_per_grid() const { return ctx.ntg; }
  uint3 threads_per_grid() const { return uint3(grid.x, grid.y, grid.z); }
  uint3 grid_size() const { return threads_per_grid(); }
  uint3 grid_origin() const { return uint3(0u, 0u, 0u); }
  uint simdgroup_index_in_threadgroup() const { return ctx.sg; }
  uint thread_index_in_simdgroup() const { return ctx.lane; }
  uint simdgroups_per_threadgroup() const { return ctx.nsg; }
  uint dispatch_simdgroups_per_threadgroup() const { return ctx.nsg; }
  uint threads_per_simdgroup() const { return 32u; }
  uint thread_execution_width() const { return 32u; }
  uint quadgroup_index_in_threadgroup() const { return thread_index_in_threadgroup() / 4u; }
  uint thread_index_in_quadgroup() const { return ctx.lane % 4u; }
  uint quadgroups_per_threadgroup() const { return ctx.nsg * 8u; }
  uint dispatch_quadgroups_per_threadgroup() const { return ctx.nsg * 8u; }
  uint threads_per_quadgroup() const { return 4u; }
};

// A position as the parameter's type has it: a number, or a vector of its first elements.
template <class T>
struct EntryPosition {
  static T of(uint3 at) { return T(at.x); }
  static T of(uint at) { return T(at); }
};
template <class T>
struct EntryPosition<vec<T, 2>> {
  static vec<T, 2> of(uint3 at) { return vec<T, 2>(T(at.x), T(at.y)); }
};
template <class T>
struct EntryPosition<vec<T, 3>> {
  static vec<T, 3> of(uint3 at) { return vec<T, 3>(T(at.x), T(at.y), T(at.z)); }
};
template <class T, class At>
HEARTH_INLINE T hearth_position(At at) {
  return EntryPosition<T>::of(at);
}
