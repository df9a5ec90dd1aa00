// Textures and rendering by name only, so that texts compile that use them in other functions than
// the kernel that runs: nothing here has a body, and kernels do not take textures. Included
// in namespace metal.

enum class access { sample, read, write, read_write };
enum class coord { normalized, pixel };
enum class address { clamp_to_zero, clamp_to_edge, clamp_to_border, repeat, mirrored_repeat };
enum class s_address { clamp_to_zero, clamp_to_edge, clamp_to_border, repeat, mirrored_repeat };
enum class t_address { clamp_to_zero, clamp_to_edge, clamp_to_border, repeat, mirrored_repeat };
enum class r_address { clamp_to_zero, clamp_to_edge, clamp_to_border, repeat, mirrored_repeat };
enum class border_color { transparent_black, opaque_black, opaque_white };
enum class filter { nearest, linear, bicubic };
enum class mag_filter { nearest, linear, bicubic };
enum class min_filter { nearest, linear, bicubic };
enum class mip_filter { none, nearest, linear };
enum class compare_func {
  never,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  always
};
enum class component { x, y, z, w };

// Takes all that its like in Metal's library is made of.
#define HEARTH_OPTIONS(name)                       \
  struct name {                                    \
    constexpr name() = default;                    \
    template <class First, class... Rest>          \
    constexpr explicit name(First&&, Rest&&...) {} \
  };
HEARTH_OPTIONS(sampler)
HEARTH_OPTIONS(level)
HEARTH_OPTIONS(bias)
HEARTH_OPTIONS(gradient2d)
HEARTH_OPTIONS(gradient3d)
HEARTH_OPTIONS(gradientcube)
HEARTH_OPTIONS(min_lod_clamp)
HEARTH_OPTIONS(max_anisotropy)
HEARTH_OPTIONS(lod_clamp)
#undef HEARTH_OPTIONS

#define HEARTH_TEXTURE(name, Value)                   \
  template <class T, access kAccess = access::sample> \
  struct name {                                       \
    template <class... A>                             \
    Value sample(A...) const;                         \
    template <class... A>                             \
    T sample_compare(A...) const;                     \
    template <class... A>                             \
    vec<T, 4> gather(A...) const;                     \
    template <class... A>                             \
    vec<T, 4> gather_compare(A...) const;             \
    template <class... A>                             \
    Value read(A...) const;                           \
    template <class... A>                             \
    void write(A...) const;                           \
    uint get_width(uint = 0u) const;                  \
    uint get_height(uint = 0u) const;                 \
    uint get_depth(uint = 0u) const;                  \
    uint get_array_size() const;                      \
    uint get_num_mip_levels() const;                  \
    uint get_num_samples() const;                     \
    void fence() const;                               \
  };
#define HEARTH_COMMA ,
HEARTH_TEXTURE(texture1d, vec<T HEARTH_COMMA 4>)
HEARTH_TEXTURE(texture1d_array, vec<T HEARTH_COMMA 4>)
HEARTH_TEXTURE(texture2d, vec<T HEARTH_COMMA 4>)
HEARTH_TEXTURE(texture2d_array, vec<T HEARTH_COMMA 4>)
HEARTH_TEXTURE(texture2d_ms, vec<T HEARTH_COMMA 4>)
HEARTH_TEXTURE(texture2d_ms_array, vec<T HEARTH_COMMA 4>)
HEARTH_TEXTURE(texture3d, vec<T HEARTH_COMMA 4>)
HEARTH_TEXTURE(texturecube, vec<T HEARTH_COMMA 4>)
HEARTH_TEXTURE(texturecube_array, vec<T HEARTH_COMMA 4>)
HEARTH_TEXTURE(texture_buffer, vec<T HEARTH_COMMA 4>)
HEARTH_TEXTURE(depth2d, T)
HEARTH_TEXTURE(depth2d_array, T)
HEARTH_TEXTURE(depth2d_ms, T)
HEARTH_TEXTURE(depthcube, T)
HEARTH_TEXTURE(depthcube_array, T)
#undef HEARTH_COMMA
#undef HEARTH_TEXTURE

void discard_fragment();
template <class T>
T dfdx(T);
template <class T>
T dfdy(T);
template <class T>
T fwidth(T);
#define vertex
#define fragment
