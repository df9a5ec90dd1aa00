// Candidates that are measured in rounds. They run in turn, so that a device that slows down does
// so for all of them. How one is run is the caller's: alone, or between the others of its round
// where the device would wait for the host.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "hearth/dtype.h"
#include "runtime/tune/autotuner.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

class Trials {
 public:
  // A candidate that took `far_behind` times as long as the fastest is not run again. `warm`: each
  // has run before it is measured, so that its first time counts too, and the first candidate,
  // which the others have to beat, is run in every round.
  Trials(std::size_t candidates, double far_behind, bool warm)
      : far_behind_(far_behind), warm_(warm), seconds_(candidates) {}

  bool runs_next(std::size_t candidate) const;
  void add(std::size_t candidate, double seconds);
  // The middle of what each took, empty where it never ran.
  CandidateSeconds middles() const;

 private:
  const double far_behind_;
  const bool warm_;
  double fastest_ = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> seconds_;
};

// Random numbers, which are to be repeated all over what candidates read: zeros would take a device
// less power, and so less time. Empty for what is no float: zeros hide nothing there, and are
// positions that exist.
std::vector<std::byte> trial_numbers(DType dtype);

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
