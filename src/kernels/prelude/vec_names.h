// float2 to ulong4: the vectors by their names, in the namespace of vec<T, N>.
#define HEARTH_VEC_NAMES(T) \
  typedef vec<T, 2> T##2;   \
  typedef vec<T, 3> T##3;   \
  typedef vec<T, 4> T##4;
#ifndef __OPENCL_CPP_VERSION__
HEARTH_VEC_NAMES(bool)
HEARTH_VEC_NAMES(bfloat)
#endif
HEARTH_VEC_NAMES(float)
HEARTH_VEC_NAMES(half)
HEARTH_VEC_NAMES(char)
HEARTH_VEC_NAMES(uchar)
HEARTH_VEC_NAMES(short)
HEARTH_VEC_NAMES(ushort)
HEARTH_VEC_NAMES(int)
HEARTH_VEC_NAMES(uint)
HEARTH_VEC_NAMES(long)
HEARTH_VEC_NAMES(ulong)
#undef HEARTH_VEC_NAMES
