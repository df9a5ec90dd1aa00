// Training curves as SVG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hearth/error.h"

namespace hearth::tools {

struct LossPoint {
  std::int64_t step = 0;
  double loss = 0.0;
};

// A constant to compare with, drawn as a dashed line.
struct LossBaseline {
  std::string label;
  double loss = 0.0;
};

struct LossCurve {
  std::string title;
  std::string unit;                 // of the losses
  std::vector<LossPoint> train;     // in the order of their steps
  std::vector<LossPoint> held_out;  // in the order of their steps
  std::vector<LossBaseline> baselines;
};

// A picture of 860 x 480 units that follows the reader's light or dark scheme. Long series are
// thinned to the mean of neighbours over a band from their least to their greatest; points that are
// not finite leave a gap.
std::string loss_curve_svg(const LossCurve& curve);

// Replaces the file at `path` by the picture in one step. Throws Error{io}.
void write_loss_curve(const std::string& path, const LossCurve& curve);

}  // namespace hearth::tools
