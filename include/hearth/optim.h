// Optimizers, gradient clipping and learning-rate schedules, written with public ops only.
//
//   optim::AdamW optimizer({.weight_decay = 0.1});
//   Gradients gradients = backward(model.loss(batch));
//   optim::clip_by_norm(gradients, 1.0);
//   optimizer.step(model, std::move(gradients), schedule(step));
//
// step() gives every parameter that has a gradient a new value, in place where nothing else holds
// the old one; ids and flags stay. It then submits the thread's work, so that a training loop runs
// one plan a step. Learning rates and other numbers that change from step to step never cost a new
// plan. Parameters of half dtypes are updated in f32 and rounded once; keep f32 parameters and
// compute in bf16 for mixed precision. Optimizers are values; not for use by two threads at once.
// `site` is the caller's line.
#pragma once

#include "hearth/optim/accumulate.h"
#include "hearth/optim/adam.h"
#include "hearth/optim/adaptive.h"
#include "hearth/optim/clip.h"
#include "hearth/optim/lbfgs.h"
#include "hearth/optim/muon.h"
#include "hearth/optim/optimizer.h"
#include "hearth/optim/schedule.h"
#include "hearth/optim/sgd.h"
