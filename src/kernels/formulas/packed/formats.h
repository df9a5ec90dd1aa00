// All block formats, by the names of their dtypes; a text that wants one includes its file alone.
#pragma once

#include "kernels/formulas/packed/codebook.h"
#include "kernels/formulas/packed/fp4.h"
#include "kernels/formulas/packed/iq4.h"
#include "kernels/formulas/packed/plain.h"
#include "kernels/formulas/packed/super.h"
#include "kernels/formulas/packed/ternary.h"
#include "kernels/formulas/packed/turbo.h"

// FORMAT(dtype, struct) for each, in the order of DType.
#define HEARTH_PACKED_FORMATS(FORMAT) \
  FORMAT(q1_0, Q1_0)                  \
  FORMAT(q2_0, Q2_0)                  \
  FORMAT(q4_0, Q4_0)                  \
  FORMAT(q4_1, Q4_1)                  \
  FORMAT(q5_0, Q5_0)                  \
  FORMAT(q5_1, Q5_1)                  \
  FORMAT(q8_0, Q8_0)                  \
  FORMAT(q8_1, Q8_1)                  \
  FORMAT(q2_k, Q2_K)                  \
  FORMAT(q3_k, Q3_K)                  \
  FORMAT(q4_k, Q4_K)                  \
  FORMAT(q5_k, Q5_K)                  \
  FORMAT(q6_k, Q6_K)                  \
  FORMAT(q8_k, Q8_K)                  \
  FORMAT(iq4_nl, IQ4_NL)              \
  FORMAT(iq4_xs, IQ4_XS)              \
  FORMAT(iq1_s, IQ1_S)                \
  FORMAT(iq1_m, IQ1_M)                \
  FORMAT(iq2_xxs, IQ2_XXS)            \
  FORMAT(iq2_xs, IQ2_XS)              \
  FORMAT(iq2_s, IQ2_S)                \
  FORMAT(iq3_xxs, IQ3_XXS)            \
  FORMAT(iq3_s, IQ3_S)                \
  FORMAT(mxfp4, MXFP4)                \
  FORMAT(nvfp4, NVFP4)                \
  FORMAT(tq1_0, TQ1_0)                \
  FORMAT(tq2_0, TQ2_0)
