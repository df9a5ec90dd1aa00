// Images: hearth/ops/{image, vision}.h.
#include "tools/bindings/call_lists.h"

#include "hearth/ops.h"
#include "ops/definition/rules.h"
#include "tools/bindings/call_macros.h"

namespace hearth::tools {

std::vector<FunctionCall> image_calls() {
  const SampleInput table = {{2, 3}};
  return {
      {"interpolate",
       "x [batch, channels, spatial...] -> [batch, channels, sizes...]",
       {{.shape = {1, 2, 4}}},
       CALL(interpolate(in[0], {2}))},
      {"grid_sample_2d",
       "x [batch, channels, height, width], grid [batch, rows, columns, 2] -> [batch, channels, "
       "rows, columns]",
       {{.shape = {1, 2, 3, 3}}, {.shape = {1, 2, 2, 2}}},
       CALL(grid_sample_2d(in[0], in[1]))},
      {"affine_grid_2d",
       "theta [batch, 2, 3] -> [batch, height, width, 2]",
       {{.shape = {1, 2, 3}}},
       CALL(affine_grid_2d(in[0], 2, 2))},
      {"unfold4d",
       "x [batch, channels, height, width] -> [batch, channels * kernel elements, windows]",
       {{.shape = {1, 2, 3, 3}}},
       CALL(unfold4d(in[0], {2}))},
      {"fold4d",
       "x [batch, channels * kernel elements, windows] -> [batch, channels, sizes...]",
       {{.shape = {1, 4, 4}}},
       CALL(fold4d(in[0], {3}, {2}))},
      {"pixel_shuffle",
       "x [batch, channels * factor^2, height, width] -> [batch, channels, height * factor, width "
       "* factor]",
       {{.shape = {1, 4, 2, 2}}},
       CALL(pixel_shuffle(in[0], 2))},
      {"pixel_unshuffle",
       "x [batch, channels, height * factor, width * factor] -> [batch, channels * factor^2, "
       "height, width]",
       {{.shape = {1, 1, 4, 4}}},
       CALL(pixel_unshuffle(in[0], 2))},
      {"erode",
       "x [..., height, width], kernel [rows, cols] -> [..., height, width]",
       {table, {.shape = {1, 2}, .dtype = kBool}},
       CALL(erode(in[0], in[1]))},
      {"erode_rectangle",
       "x [..., height, width] -> [..., height, width]",
       {table},
       CALL(erode_rectangle(in[0], 1, 2))},
      {"dilate",
       "x [..., height, width], kernel [rows, cols] -> [..., height, width]",
       {table, {.shape = {1, 2}, .dtype = kBool}},
       CALL(dilate(in[0], in[1]))},
      {"dilate_rectangle",
       "x [..., height, width] -> [..., height, width]",
       {table},
       CALL(dilate_rectangle(in[0], 1, 2))},
      {"connected_components",
       "image [..., height, width] -> [..., height, width]",
       {{.shape = {2, 3}, .dtype = kBool}},
       CALL(connected_components(in[0], Connectivity::eight, dtype))},
      {"connected_components_with_stats",
       "image [..., height, width] -> labels [..., height, width], stats [..., labels, 5], number "
       "[...]",
       {{.shape = {2, 3}, .dtype = kBool}},
       CALL_OF_ALL(connected_components_with_stats(in[0], Connectivity::eight, dtype))},
      {"nms",
       "boxes [n, 4], scores [n] -> [count]",
       {{.shape = {2, 4}}, {.shape = {2}}},
       CALL(nms(in[0], in[1]))},
  };
}

}  // namespace hearth::tools
