// All of Hearth.
#pragma once

#include "hearth/array.h"
#include "hearth/custom_op.h"
#include "hearth/device.h"
#include "hearth/dtype.h"
#include "hearth/error.h"
#include "hearth/grad.h"
#include "hearth/io.h"
#include "hearth/nn.h"
#include "hearth/numerics.h"
#include "hearth/ops.h"
#include "hearth/optim.h"
#include "hearth/parameter.h"
#include "hearth/random.h"
#include "hearth/runtime.h"
#include "hearth/shape.h"
#include "hearth/tensor.h"
