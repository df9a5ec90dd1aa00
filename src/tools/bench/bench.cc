#include "tools/bench/bench.h"

#include <regex.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <thread>

#include "hearth/error.h"
#include "runtime/device/device_spec.h"
#include "runtime/device/worker_pool.h"
#include "tools/bench/report.h"
#include "tools/profile_table.h"

namespace hearth::tools {
namespace {

// A sample shorter than this says more about the clock than about the code.
constexpr double kMinSampleSeconds = 1e-3;
constexpr int kMinRounds = 7;
constexpr int kMinLongRounds = 5;
constexpr int kMaxRounds = 300;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void pause(double seconds) {
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// Says on a terminal how far the bench is.
void show_progress(const std::string& row) {
  if (isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "\r\033[K%s", row.c_str());
}

// Whether a row's name has a part that the extended regular expression `rows` describes.
std::function<bool(const std::string&)> row_matcher(const std::string& rows) {
  auto made = std::make_unique<regex_t>();
  const int status = regcomp(made.get(), rows.empty() ? "." : rows.c_str(), REG_EXTENDED);
  if (status != 0) {
    char reason[128];
    regerror(status, made.get(), reason, sizeof reason);
    throw Error(ErrorCode::invalid_argument, "bench: --rows is no regular expression; got '" +
                                                 rows + "', expected one (" + reason + ")");
  }
  const std::shared_ptr<regex_t> pattern(made.release(), [](regex_t* old) {
    regfree(old);
    delete old;
  });
  return [pattern](const std::string& row) {
    return regexec(pattern.get(), row.c_str(), 0, nullptr, 0) == 0;
  };
}

}  // namespace

Summary summarize(std::vector<double> samples) {
  if (samples.empty()) {
    throw Error(ErrorCode::invalid_argument, "bench: no samples; got 0, expected at least 1");
  }
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double part) {
    const double place = part * static_cast<double>(samples.size() - 1);
    const auto low = static_cast<std::size_t>(place);
    const std::size_t high = std::min(low + 1, samples.size() - 1);
    return samples[low] + (samples[high] - samples[low]) * (place - static_cast<double>(low));
  };
  return {at(0.5), at(0.1), at(0.9)};
}

double seconds_of(const std::function<void()>& run) {
  const double start = now();
  run();
  return now() - start;
}

Contestant timed(std::string name, std::function<void()> run) {
  auto calls = std::make_shared<int>(0);
  return {std::move(name), [run = std::move(run), calls] {
            if (*calls == 0) {  // the first sample finds out how many calls fill one
              run();
              double one = seconds_of(run);
              one = std::max(std::min(one, seconds_of(run)), 1e-9);
              *calls = static_cast<int>(std::clamp(kMinSampleSeconds / one, 1.0, 1e6));
            }
            const double start = now();
            for (int i = 0; i < *calls; ++i) run();
            return (now() - start) / *calls;
          }};
}

Bench::Bench(const BenchOptions& options)
    : device_(options.device.empty() ? Device() : Device::named(options.device)),
      matches_(row_matcher(options.rows)),
      threads_(options.threads),
      seconds_(options.seconds),
      list_(options.list),
      profiles_(options.profile) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (threads_ == 0) threads_ = std::min(2, cores);
  if (threads_ < 1 || threads_ > WorkerPool::kMaxThreads || !(seconds_ > 0) || seconds_ > 3600) {
    throw Error(ErrorCode::invalid_argument,
                "bench: threads or seconds out of range; got " + std::to_string(options.threads) +
                    " and " + std::to_string(options.seconds) + ", expected 1 to " +
                    std::to_string(WorkerPool::kMaxThreads) + " and up to 3600");
  }
}

bool Bench::wants(const std::string& row) {
  const bool wanted = matches_(row);
  if (!list_) return wanted;
  if (wanted && std::find(names_.begin(), names_.end(), row) == names_.end()) names_.push_back(row);
  return false;
}

void Bench::measure(const RowSpec& spec, const Contestant& ours,
                    const std::vector<Contestant>& references) {
  if (profiles_) {
    ours.sample();  // warm
    const runtime::Profile profile;
    ours.sample();
    profile_ += spec.row + "\n" + kernel_table(profile.kernels()) + "\n";
    return;
  }
  std::vector<const Contestant*> all = {&ours};
  for (const Contestant& reference : references) all.push_back(&reference);
  std::vector<std::vector<double>> samples(all.size());
  for (const Contestant* contestant : all) contestant->sample();  // warm caches, plans and pools

  const double start = now();
  for (int round = 0; round < kMaxRounds; ++round) {
    const double spent = now() - start;
    const bool is_long = round > 0 && spent / round > seconds_ / kMinRounds;
    if (spent > seconds_ && round >= (is_long ? kMinLongRounds : kMinRounds)) break;
    // Every other round in reverse, so that nobody always follows the same one.
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t turn = round % 2 == 0 ? i : all.size() - 1 - i;
      if (spec.pause > 0) {
        // Others' threads fall asleep in the pause, and so do one's own: an untimed run wakes them.
        pause(spec.pause);
        all[turn]->sample();
      }
      samples[turn].push_back(all[turn]->sample());
    }
  }
  for (std::vector<double>& list : samples) {
    for (double& seconds : list) {
      seconds = std::max(seconds, 1e-12);
      seconds = spec.rate ? spec.scale / seconds : spec.scale * seconds;
    }
  }
  std::string best;
  std::optional<double> best_median;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const double median = summarize(samples[i]).median;
    if (best_median && (spec.rate ? median <= *best_median : median >= *best_median)) continue;
    best = all[i]->name;
    best_median = median;
  }
  add(spec, summarize(samples[0]), best, best_median);
}

void Bench::report(const RowSpec& spec, std::vector<double> values, const std::string& reference,
                   std::optional<double> reference_value) {
  add(spec, summarize(std::move(values)), reference, reference_value);
}

void Bench::add(const RowSpec& spec, const Summary& value, const std::string& reference,
                std::optional<double> reference_median) {
  BenchRow row;
  row.row = spec.row;
  row.unit = spec.unit;
  row.scale = spec.scale;
  row.rate = spec.rate;
  row.value = value;
  if (spec.rate && row.value.p10 > row.value.p90) std::swap(row.value.p10, row.value.p90);
  row.reference = reference;
  row.reference_median = reference_median;
  if (reference_median && *reference_median != 0) row.ratio = value.median / *reference_median;
  row.target = target_text(spec);
  row.peer = spec.peer;
  row.timing = spec.timing;
  row.threads = spec.threads;
  row.recording_included = spec.recording_included;
  row.note = spec.note;
  const auto holds = [&](double got, double wanted) {
    return spec.rate ? got >= wanted : got <= wanted;
  };
  if (spec.most) row.ok = holds(value.median, *spec.most);
  if (spec.ratio) {
    if (!row.ratio) {
      row.ok.reset();
    } else {
      row.ok = row.ok.value_or(true) && holds(*row.ratio, *spec.ratio);
    }
  }
  rows_.push_back(std::move(row));
  show_progress(spec.row);
}

WithThreads::WithThreads(int threads) : before_(WorkerPool::global().threads()) {
  WorkerPool::global().set_threads(threads);
}
WithThreads::~WithThreads() { WorkerPool::global().set_threads(before_); }

WithSwitches::WithSwitches(const Switches& wanted) : before_(switches()) { switches() = wanted; }
WithSwitches::~WithSwitches() { switches() = before_; }

Switches fusion_switches(bool fusion) {
  Switches wanted = switches();
  wanted.fuse_elementwise = fusion;
  wanted.fuse_reductions = fusion;
  return wanted;
}

Bench run_bench(const BenchOptions& options) {
  Bench bench(options);
  if (bench.device().impl().host_visible()) {
    bench_engine(bench);
    bench_elementwise(bench);
    bench_matmul(bench);
    bench_packed(bench);
    bench_paged(bench);
    bench_rows(bench);
    bench_conv(bench);
    bench_pool(bench);
    bench_sort(bench);
    bench_training(bench);
  } else {
    bench_gpu(bench);
  }
  bench_all_functions(bench);
  show_progress("");
  if (bench.rows().empty() && bench.names().empty() && bench.profile().empty()) {
    throw Error(ErrorCode::invalid_argument,
                "bench: no such row; got '" + options.rows + "', expected a part of a row's name");
  }
  return bench;
}

}  // namespace hearth::tools
