#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

#include "hearth/error.h"
#include "runtime/device/worker_pool.h"
#include "tools/bench/report.h"
#include "tools/commands.h"
#include "tools/output.h"

namespace hearth::tools {

void add_bench(CommandLine& line) {
  struct Arguments {
    BenchOptions options;
    std::string json;
  };
  auto arguments = std::make_shared<Arguments>();
  Command command =
      line.add_command("bench", "Measure ops beside hardware limits and other libraries");
  Option json =
      command.option("--json", arguments->json, "Write JSON to FILE, or - for standard output");
  json.optional_value().value_name("FILE");
  command.option("--device", arguments->options.device,
                 "Where to compute, such as cpu or cuda; `hearth devices` lists what there is");
  command.option("--rows", arguments->options.rows, "Measure only rows whose names match")
      .value_name("REGEX");
  command
      .option("--threads", arguments->options.threads, "Threads of the rows that use several [2]")
      .range(std::int64_t{1}, std::int64_t{WorkerPool::kMaxThreads});
  command.option("--seconds", arguments->options.seconds, "Seconds to spend on a row")
      .show_default();
  command.flag("--list", arguments->options.list, "List the rows and measure nothing");
  command.flag("--profile", arguments->options.profile,
               "Show the time of each row's kernels instead");
  command.action([arguments, json] {
    const Bench bench = run_bench(arguments->options);
    std::string text = bench.profile();
    for (const std::string& name : bench.names()) text += name + "\n";
    if (text.empty()) text = bench_table(bench.rows());
    if (!json.given()) return write_out(text);
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
