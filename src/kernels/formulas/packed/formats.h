// All block formats; a text that wants one includes its file alone.
#pragma once

#include "kernels/formulas/packed/affine.h"
#include "kernels/formulas/packed/codebook.h"
#include "kernels/formulas/packed/fp4.h"
#include "kernels/formulas/packed/iq4.h"
#include "kernels/formulas/packed/plain.h"
#include "kernels/formulas/packed/super.h"
#include "kernels/formulas/packed/ternary.h"
#include "kernels/formulas/packed/turbo.h"
