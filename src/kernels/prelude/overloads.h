// Functions of metal that kernel texts overload for types of their own: both are found from there.
using metal::quad_shuffle_xor;
using metal::simd_broadcast;
using metal::simd_max;
using metal::simd_min;
using metal::simd_prefix_exclusive_sum;
using metal::simd_prefix_inclusive_sum;
using metal::simd_product;
using metal::simd_shuffle;
using metal::simd_shuffle_and_fill_down;
using metal::simd_shuffle_and_fill_up;
using metal::simd_shuffle_down;
using metal::simd_shuffle_up;
using metal::simd_shuffle_xor;
using metal::simd_sum;
// metal::x is meant also where a text adds to the namespace.
namespace metal {
using namespace ::metal;
namespace fast {
using namespace ::metal::fast;
}
namespace precise {
using namespace ::metal::precise;
}
}  // namespace metal
