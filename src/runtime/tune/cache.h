// The results of tuning, kept on disk from process to process. Knows no op: an op and a class of
// its problems are texts here.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hearth {
inline namespace v0 {
namespace runtime {

struct CandidateTime {
  std::string name;
  std::optional<double> seconds;  // empty: it was not to be measured
};

struct KeptSelection {
  std::string op;                    // "matmul"
  std::string problem;               // the class: "f32 nt m1024 n1024 k512"
  std::string chosen;                // one of `times`
  std::vector<CandidateTime> times;  // of all candidates, in the order in which they were offered
};

// One file for a device and a compiler, a result a line, in JSON: may be read and edited by people.
// Safe between processes; nothing here throws. Lines and files that make no sense count as absent
// and are gone when something is next kept. Not thread-safe.
class TuningFile {
 public:
  static constexpr std::size_t kMax = 1024;  // results; the oldest go first

  // `device`: what the times depend on, such as its name and how many cores it has. `compiler`: of
  // kernels, with their version. An empty folder: nothing is kept.
  TuningFile(const std::string& folder, std::string device, std::string compiler);

  // The choice for this class between candidates of exactly these names, or of any where none are
  // given, if there is one.
  std::optional<KeptSelection> find(const std::string& op, const std::string& problem,
                                    const std::vector<std::string>& names = {});
  // Keeps the choice and returns it, unless another process was first: then the one that it kept.
  KeptSelection keep(KeptSelection choice);

  // As they are on disk now, the oldest first.
  std::vector<KeptSelection> read() const noexcept;
  // Empty where nothing is kept.
  const std::string& path() const noexcept { return path_; }

 private:
  bool write(const std::vector<KeptSelection>& choices) const noexcept;
  std::string heading() const;

  std::string device_, compiler_, path_;
  std::optional<std::vector<KeptSelection>> known_;  // as last read or written
};

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
