#include "tools/bench.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "hearth/device.h"
#include "runtime/worker_pool.h"
#include "tools/bench_training.h"
#include "tools/commands.h"

namespace hearth::tools {
namespace {

// A sample shorter than this says more about the clock than about the code.
constexpr double kShortestSample = 1e-3;
constexpr int kFewestRounds = 7;
constexpr int kFewestLongRounds = 5;
constexpr int kMostRounds = 300;

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

// Three significant digits, or whole numbers.
std::string number(double value) {
  char text[32];
  const double size = std::fabs(value);
  std::snprintf(text, sizeof text,
                size >= 100   ? "%.0f"
                : size >= 10  ? "%.1f"
                : size >= 1   ? "%.2f"
                : size >= 0.1 ? "%.3f"
                              : "%.4f",
                value);
  return text;
}

std::string target_text(const RowSpec& spec) {
  const std::string sign = spec.rate ? ">= " : "<= ";
  std::string out;
  if (spec.most) out = sign + number(*spec.most) + " " + spec.unit;
  if (spec.ratio) out += (out.empty() ? "" : ", ") + sign + number(*spec.ratio) + "x";
  return out;
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
              *calls = static_cast<int>(std::clamp(kShortestSample / one, 1.0, 1e6));
            }
            const double start = now();
            for (int i = 0; i < *calls; ++i) run();
            return (now() - start) / *calls;
          }};
}

Bench::Bench(const BenchOptions& options)
    : threads_(options.threads), seconds_(options.seconds), list_(options.list) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (threads_ == 0) threads_ = std::min(2, cores);
  if (threads_ < 1 || threads_ > WorkerPool::kMaxThreads || !(seconds_ > 0) || seconds_ > 3600) {
    throw Error(ErrorCode::invalid_argument,
                "bench: threads or seconds out of range; got " + std::to_string(options.threads) +
                    " and " + std::to_string(options.seconds) + ", expected 1 to " +
                    std::to_string(WorkerPool::kMaxThreads) + " and up to 3600");
  }
  try {
    pattern_ = std::regex(options.rows.empty() ? "." : options.rows, std::regex::extended);
  } catch (const std::regex_error& error) {
    throw Error(ErrorCode::invalid_argument, "bench: --rows is no regular expression; got '" +
                                                 options.rows + "', expected one (" + error.what() +
                                                 ")");
  }
}

bool Bench::wants(const std::string& row) {
  const bool wanted = std::regex_search(row, pattern_);
  if (!list_) return wanted;
  if (wanted && std::find(names_.begin(), names_.end(), row) == names_.end()) names_.push_back(row);
  return false;
}

void Bench::measure(const RowSpec& spec, const Contestant& ours,
                    const std::vector<Contestant>& references) {
  std::vector<const Contestant*> all = {&ours};
  for (const Contestant& reference : references) all.push_back(&reference);
  std::vector<std::vector<double>> samples(all.size());
  for (const Contestant* contestant : all) contestant->sample();  // warm caches, plans and pools

  const double start = now();
  for (int round = 0; round < kMostRounds; ++round) {
    const double spent = now() - start;
    const bool is_long = round > 0 && spent / round > seconds_ / kFewestRounds;
    if (spent > seconds_ && round >= (is_long ? kFewestLongRounds : kFewestRounds)) break;
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
  row.value = value;
  if (spec.rate && row.value.p10 > row.value.p90) std::swap(row.value.p10, row.value.p90);
  row.reference = reference;
  row.reference_median = reference_median;
  if (reference_median && *reference_median != 0) row.ratio = value.median / *reference_median;
  row.target = target_text(spec);
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

Bench run_bench(const BenchOptions& options) {
  Bench bench(options);
  bench_engine(bench);
  bench_elementwise(bench);
  bench_matmul(bench);
  bench_rows(bench);
  bench_training(bench);
  show_progress("");
  if (bench.rows().empty() && bench.names().empty()) {
    throw Error(ErrorCode::invalid_argument,
                "bench: no such row; got '" + options.rows + "', expected a part of a row's name");
  }
  return bench;
}

std::string bench_table(const std::vector<BenchRow>& rows) {
  std::vector<std::vector<std::string>> cells = {{"row", "median", "p10..p90", "unit", "reference",
                                                  "median", "ratio", "target", "threads",
                                                  "recording", "ok"}};
  for (const BenchRow& row : rows) {
    cells.push_back(
        {row.row, number(row.value.median), number(row.value.p10) + ".." + number(row.value.p90),
         row.unit, row.reference, row.reference_median ? number(*row.reference_median) : "",
         row.ratio ? number(*row.ratio) : "", row.target, std::to_string(row.threads),
         row.recording_included ? "included" : "", row.ok ? *row.ok ? "ok" : "MISS" : "-"});
  }
  std::vector<std::size_t> widths(cells[0].size(), 0);
  for (const auto& line : cells) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string out;
  for (std::size_t r = 0; r < cells.size(); ++r) {
    for (std::size_t i = 0; i < cells[r].size(); ++i) {
      const std::string& cell = cells[r][i];
      const std::string space(widths[i] - cell.size(), ' ');
      const bool right = i == 1 || i == 5 || i == 6 || i == 8;
      out += right ? space + cell : cell + space;
      out += "  ";
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
    if (r > 0 && !rows[r - 1].note.empty()) out += "    " + rows[r - 1].note + '\n';
  }
  const auto met = std::count_if(rows.begin(), rows.end(),
                                 [](const BenchRow& row) { return row.ok && *row.ok; });
  const auto known = std::count_if(rows.begin(), rows.end(),
                                   [](const BenchRow& row) { return row.ok.has_value(); });
  return out + std::to_string(met) + " of " + std::to_string(known) + " targets met\n";
}

std::string bench_json(const Bench& bench) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const std::string& name : bench.names()) list.push_back(name);
  const auto optional = [](const auto& value) -> nlohmann::ordered_json {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  for (const BenchRow& row : bench.rows()) {
    nlohmann::ordered_json out;
    out["row"] = row.row;
    out["unit"] = row.unit;
    out["median"] = row.value.median;
    out["p10"] = row.value.p10;
    out["p90"] = row.value.p90;
    out["reference"] = row.reference.empty() ? nlohmann::ordered_json(nullptr)
                                             : nlohmann::ordered_json(row.reference);
    out["reference_median"] = optional(row.reference_median);
    out["ratio"] = optional(row.ratio);
    out["target"] = row.target;
    out["threads"] = row.threads;
    out["recording_included"] = row.recording_included;
    out["ok"] = optional(row.ok);
    if (!row.note.empty()) out["note"] = row.note;
    list.push_back(std::move(out));
  }
  const TrainingShape shape;
  nlohmann::ordered_json model;
  model["vocabulary"] = shape.vocabulary;
  model["dim"] = shape.dim;
  model["hidden"] = shape.config().resolved().hidden;
  model["layers"] = shape.layers;
  model["heads"] = shape.heads;
  model["kv_heads"] = shape.kv_heads;
  model["context"] = shape.context;
  model["batch"] = shape.batch;
  nlohmann::ordered_json all;
  all["device"] = Device::cpu().description();
  all["model"] = std::move(model);
  all["rows"] = std::move(list);
  return all.dump(2) + "\n";
}

void add_bench(CLI::App& app) {
  struct Arguments {
    BenchOptions options;
    std::string json;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("bench", "Measure, beside limits and libraries");
  CLI::Option* json =
      command->add_option("--json", arguments->json, "Write JSON to FILE, or - for standard output")
          ->expected(0, 1)
          ->type_name("FILE");
  command->add_option("--rows", arguments->options.rows, "Only rows whose name this matches")
      ->type_name("REGEX");
  command->add_option("--threads", arguments->options.threads,
                      "Threads of the rows that use several (default: two)");
  command->add_option("--seconds", arguments->options.seconds, "Time to spend on a row")
      ->capture_default_str();
  command->add_flag("--list", arguments->options.list, "Name the rows and measure nothing");
  command->callback([arguments, json] {
    const Bench bench = run_bench(arguments->options);
    std::string text;
    for (const std::string& name : bench.names()) text += name + "\n";
    if (text.empty()) text = bench_table(bench.rows());
    if (json->count() == 0) return write_out(text);
    if (arguments->json.empty() || arguments->json == "-") {
      return write_out(bench_json(bench));
    }
    std::ofstream file(arguments->json, std::ios::binary);
    file << bench_json(bench);
    file.close();
    if (!file) {
      throw Error(ErrorCode::io, "bench: cannot write; got '" + arguments->json +
                                     "', expected a file that can be written");
    }
    write_out(text);
  });
}

}  // namespace hearth::tools
