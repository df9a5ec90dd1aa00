#include "machines/sim/sim_library_conv.h"

#include <sstream>

namespace hearth::sim {
namespace {

using gpu::ConvProblem;

// Each thread has elements of the result, and walks all that meet.
constexpr const char* kLoops = R"(
{
  for (long at = long(ctx.tid.x); at < COUNT; at += 32) {
    float sum = 0.0f;
    for (long n = 0; n < kBatch; ++n) {
      for (long o = 0; o < kOutputs; ++o) {
        for (long i = 0; i < kInputs / kGroups; ++i) {
          long c = o / (kOutputs / kGroups) * (kInputs / kGroups) + i;
          SKIP_CHANNELS
          for (long p = 0; p < kPositions; ++p) {
            long y = Y_AT;
            SKIP_POSITIONS
            for (long e = 0; e < kKernel; ++e) {
              long w = W_AT;
              long spot = element_met(p, e);
              if (spot < 0) continue;
              spot = X_AT;
              if (RESULT == at) sum += float(FIRST) * float(SECOND);
            }
          }
        }
      }
    }
    out[at] = TYPE(sum);
  }
}
)";

void replace_all(std::string* text, const std::string& what, const std::string& by) {
  for (std::size_t at = text->find(what); at != std::string::npos;
       at = text->find(what, at + by.size())) {
    text->replace(at, what.size(), by);
  }
}

std::int64_t product(const ConvProblem& p, const std::int64_t* list) {
  std::int64_t all = 1;
  for (std::int64_t i = 0; i < p.axes; ++i) all *= list[i];
  return all;
}

}  // namespace

std::string library_conv_text(const runtime::LibraryCall& call) {
  const ConvProblem p = gpu::conv_problem(call);
  const std::int64_t extent = product(p, p.extent), kernel = product(p, p.kernel);
  const std::int64_t positions = product(p, p.positions);
  std::ostringstream text;
  text << "enum : long { kBatch = " << p.batch << ", kInputs = " << p.inputs
       << ", kOutputs = " << p.outputs << ", kGroups = " << p.groups << ", kExtent = " << extent
       << ", kKernel = " << kernel << ", kPositions = " << positions
       << " };\n"
          "// The element of a channel of x that element e of the kernel meets at position p, or "
          "-1.\n"
          "inline long element_met(long p, long e) {\n  long at = 0, step = 1, place;\n";
  for (std::int64_t i = p.axes - 1; i >= 0; --i) {
    text << "  place = p % " << p.positions[i] << " * " << p.stride[i] << " - " << p.before[i]
         << " + e % " << p.kernel[i] << " * " << p.dilation[i] << ";\n"
         << "  if (place < 0 || place >= " << p.extent[i] << ") return -1;\n"
         << "  at += place * step;\n  step *= " << p.extent[i] << ";\n  p /= " << p.positions[i]
         << ";\n  e /= " << p.kernel[i] << ";\n";
  }
  text << "  return at;\n}\n";
  struct Roles {
    std::int64_t count;
    const char *result, *first, *second, *skips_channels, *skips_positions;
  };
  // Channels innermost or outermost: where an element of the result lies, and what cannot meet it.
  const bool last = p.channels_last != 0;
  const Roles roles[] = {
      {p.batch * p.outputs * positions, "y", "x[spot]", "weight[w]", "", "if (y != at) continue;"},
      {p.batch * p.inputs * extent, "spot", "grad[y]", "weight[w]",
       last ? "if (n != at / (kExtent * kInputs) || c != at % kInputs) continue;"
            : "if ((n * kInputs + c) != at / kExtent) continue;",
       ""},
      {p.outputs * (p.inputs / p.groups) * kernel, "w", "x[spot]", "grad[y]",
       last ? "if (o != at / (kKernel * (kInputs / kGroups)) || i != at % (kInputs / kGroups)) "
              "continue;"
            : "if (o * (kInputs / kGroups) + i != at / kKernel) continue;",
       ""}};
  struct Places {
    const char *y, *w, *x;
  };
  const Places places = last ? Places{"(n * kPositions + p) * kOutputs + o",
                                      "(o * kKernel + e) * (kInputs / kGroups) + i",
                                      "(n * kExtent + spot) * kInputs + c"}
                             : Places{"(n * kOutputs + o) * kPositions + p",
                                      "(o * (kInputs / kGroups) + i) * kKernel + e",
                                      "(n * kInputs + c) * kExtent + spot"};
  const Roles& role = roles[p.kind];
  std::string body = kLoops;
  replace_all(&body, "COUNT", std::to_string(role.count));
  replace_all(&body, "SKIP_CHANNELS", role.skips_channels);
  replace_all(&body, "Y_AT", places.y);
  replace_all(&body, "W_AT", places.w);
  replace_all(&body, "X_AT", places.x);
  replace_all(&body, "SKIP_POSITIONS", role.skips_positions);
  replace_all(&body, "RESULT", role.result);
  replace_all(&body, "FIRST", role.first);
  replace_all(&body, "SECOND", role.second);
  replace_all(&body, "TYPE", call.parameters[0].type);
  text << "inline void library_conv(";
  for (const runtime::KernelParameter& parameter : call.parameters) {
    const bool reads = parameter.kind == runtime::KernelParameter::Kind::read;
    text << (reads ? "device const " : "device ") << parameter.type << "* " << parameter.name
         << ", ";
  }
  text << "Ctx ctx)" << body;
  return text.str();
}

}  // namespace hearth::sim
