// Layers: value structs with public parameters, written with public ops only.
//
// Parameters are made in f32 unless asked otherwise, marked by require_grad(), and have PyTorch's
// names where it has such a layer, but for attention, whose three projections are parameters of
// their own, named as in Hugging Face models. A layer computes in the dtype of its input:
// parameters are cast to it, so bf16 activations over f32 parameters are mixed precision, with
// gradients in f32. Arrays are of any leading shape where `...` is written. `site` is the caller's
// line.
#pragma once

#include "hearth/nn/activation.h"
#include "hearth/nn/attention.h"
#include "hearth/nn/conv.h"
#include "hearth/nn/deform_conv.h"
#include "hearth/nn/distance.h"
#include "hearth/nn/feed_forward.h"
#include "hearth/nn/init.h"
#include "hearth/nn/layer.h"
#include "hearth/nn/layer_norm.h"
#include "hearth/nn/linear.h"
#include "hearth/nn/loss.h"
#include "hearth/nn/noise.h"
#include "hearth/nn/norm.h"
#include "hearth/nn/normalization.h"
#include "hearth/nn/pool.h"
#include "hearth/nn/position.h"
#include "hearth/nn/quantized.h"
#include "hearth/nn/rnn.h"
#include "hearth/nn/sequential.h"
#include "hearth/nn/transformer.h"
#include "hearth/parameter.h"
