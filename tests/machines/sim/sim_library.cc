#include "machines/sim/sim_library.h"

#include <sstream>

#include "hearth/dtype.h"
#include "hearth/error.h"
#include "kernels/attention/library/problem.h"
#include "machines/sim/sim_library_conv.h"
#include "machines/sim/sim_library_factor.h"

namespace hearth::sim {
namespace {

using gpu::AttentionProblem;

std::string steps(const char* name, const AttentionProblem::Steps& s, bool items = true,
                  bool heads = true) {
  std::ostringstream text;
  text << "inline long " << name << "_at(long item, long head, long row) { return item * "
       << (items ? s.item : 0) << " + head * " << (heads ? s.head : 0) << " + row * " << s.row
       << "; }\n";
  return text.str();
}

// What the problem is, and the score of a key; a key that a row does not see has -inf.
std::string opening(const AttentionProblem& p) {
  std::ostringstream text;
  text
      << "enum : long { kBatch = " << p.batch << ", kHeads = " << p.heads
      << ", kGroup = " << p.heads / p.kv_heads << ", kKvHeads = " << p.kv_heads
      << ", kRows = " << p.rows << ", kKeys = " << p.keys << ", kD = " << p.d << ", kDv = " << p.dv
      << " };\n"
      << steps("q", p.q) << steps("k", p.k) << steps("v", p.v) << steps("out", p.out)
      << steps("grad", p.grad) << steps("bias", p.bias, p.bias_items > 1, p.bias_heads > 1)
      << "template <typename T>\n"
         "inline float score_at(device const T* q, device const T* k, device const T* bias,\n"
         "                      long item, long head, long row, long key, long keys, long rows) {\n"
         "  float sum = 0.0f;\n"
         "  for (long i = 0; i < kD; ++i) {\n"
         "    sum += float(q[q_at(item, head, row) + i]) *\n"
         "           float(k[k_at(item, head / kGroup, key) + i]);\n"
         "  }\n"
         "  sum *= float("
      << p.scale << "f);\n";
  if (p.bias_items > 0) text << "  sum += float(bias[bias_at(item, head, row) + key]);\n";
  text << "  bool sees = key < keys";
  if (p.causal != 0) {
    text << (p.bias_items > 0 ? " && key <= row" : " && key <= row + keys - rows");
  }
  text << ";\n  return sees ? sum : -INFINITY;\n}\n";
  return text.str();
}

// A thread has a row. Weights of 0 take part, too, and a running maximum over 4 keys at a time is
// NaN where none of the first ones is seen.
constexpr const char* kForward = R"(
{
  for (long line = long(ctx.tid.x); line < kBatch * kHeads * kRows; line += 32) {
    long row = line % kRows, head = line / kRows % kHeads, item = line / kRows / kHeads;
    long keys = KEYS, rows = ROWS;
    float top = -INFINITY, total = 0.0f;
    for (long first = 0; first < kKeys; first += 4) {
      long end = metal::min(first + 4l, long(kKeys));
      float best = top, sum = 0.0f;
      for (long key = first; key < end; ++key) {
        best = metal::max(best, score_at(q, k, BIAS, item, head, row, key, keys, rows));
      }
      for (long key = first; key < end; ++key) {
        sum += metal::exp(score_at(q, k, BIAS, item, head, row, key, keys, rows) - best);
      }
      total = total * metal::exp(top - best) + sum;
      top = best;
    }
    sums[line] = top + metal::log(total);
    for (long column = 0; column < kDv; ++column) {
      float sum = 0.0f;
      for (long key = 0; key < kKeys; ++key) {
        float weight = metal::exp(score_at(q, k, BIAS, item, head, row, key, keys, rows) - top);
        sum += weight / total * float(v[v_at(item, head / kGroup, key) + column]);
      }
      out[out_at(item, head, row) + column] = TYPE(sum);
    }
  }
}
)";

// Rows, then keys.
constexpr const char* kBackward = R"(
{
  for (long line = long(ctx.tid.x); line < kBatch * kHeads * kRows; line += 32) {
    long row = line % kRows, head = line / kRows % kHeads, item = line / kRows / kHeads;
    float dot = 0.0f;
    for (long i = 0; i < kDv; ++i) {
      dot += float(grad[grad_at(item, head, row) + i]) * float(out[out_at(item, head, row) + i]);
    }
    inner[line] = dot;
    for (long i = 0; i < kD; ++i) {
      float sum = 0.0f;
      for (long key = 0; key < kKeys; ++key) {
        float score = score_at(q, k, BIAS, item, head, row, key, kKeys, kRows);
        float weight = metal::exp(score - sums[line]), along = 0.0f;
        for (long j = 0; j < kDv; ++j) {
          along += float(grad[grad_at(item, head, row) + j]) *
                   float(v[v_at(item, head / kGroup, key) + j]);
        }
        sum += weight * (along - dot) * float(k[k_at(item, head / kGroup, key) + i]);
      }
      dq[line * kD + i] = TYPE(sum * float(SCALEf));
    }
  }
  for (long line = long(ctx.tid.x); line < kBatch * kKvHeads * kKeys; line += 32) {
    long key = line % kKeys, kv_head = line / kKeys % kKvHeads, item = line / kKeys / kKvHeads;
    float sum_k[256], sum_v[256];
    for (long i = 0; i < 256; ++i) sum_k[i] = sum_v[i] = 0.0f;
    for (long head = kv_head * kGroup; head < (kv_head + 1) * kGroup; ++head) {
      for (long row = 0; row < kRows; ++row) {
        long at = (item * kHeads + head) * kRows + row;
        float weight =
            metal::exp(score_at(q, k, BIAS, item, head, row, key, kKeys, kRows) - sums[at]);
        float along = 0.0f, dot = 0.0f;
        for (long j = 0; j < kDv; ++j) {
          float g = float(grad[grad_at(item, head, row) + j]);
          dot += g * float(out[out_at(item, head, row) + j]);
          along += g * float(v[v_at(item, kv_head, key) + j]);
          sum_v[j] += weight * g;
        }
        float slope = weight * (along - dot) * float(SCALEf);
        for (long i = 0; i < kD; ++i) sum_k[i] += slope * float(q[q_at(item, head, row) + i]);
      }
    }
    for (long i = 0; i < kD; ++i) dk[line * kD + i] = TYPE(sum_k[i]);
    for (long i = 0; i < kDv; ++i) dv[line * kDv + i] = TYPE(sum_v[i]);
  }
}
)";

void replace(std::string* text, const std::string& what, const std::string& by) {
  for (std::size_t at = text->find(what); at != std::string::npos;
       at = text->find(what, at + by.size())) {
    text->replace(at, what.size(), by);
  }
}

}  // namespace

runtime::LibraryTraits LibraryDriver::libraries() const {
  runtime::LibraryTraits traits;
  traits.attention = {.exists = true, .max_columns = 256};
  traits.conv = {.exists = true};
  traits.factorizations.opens = [] { return true; };
  traits.factorizations.workspace = [](const runtime::LibraryCall&) {
    return kFactorWorkspaceBytes;
  };
  return traits;
}

std::unique_ptr<runtime::Function> LibraryDriver::library_function(const runtime::LibraryCall& call,
                                                                   runtime::Autotuner& /*tuner*/) {
  if (refuses_) {
    throw Error(ErrorCode::unsupported, call.name + ": refused; got a call, expected none");
  }
  runtime::KernelSource source;
  source.name = call.name;
  source.parameters = call.parameters;
  source.max_threads = 32;
  if (call.function == gpu::kConvFunction) {
    source.function = "library_conv";
    source.text = library_conv_text(call);
    return load(source, compile(source));
  }
  if (call.function == gpu::kFactorFunction) {
    source.function = "library_factor";
    source.text = library_factor_text(call);
    // Its loops read what they have written.
    for (runtime::KernelParameter& parameter : source.parameters) {
      using Kind = runtime::KernelParameter::Kind;
      if (parameter.kind == Kind::write) parameter.kind = Kind::read_write;
    }
    return load(source, compile(source), false);
  }
  const AttentionProblem problem = gpu::attention_problem(call);
  source.function = "library_attention";
  std::string body = problem.backward != 0 ? kBackward : kForward;
  std::ostringstream scale;
  scale << std::showpoint << problem.scale;
  replace(&body, "SCALE", scale.str());
  replace(&body, "KEYS", problem.bounded != 0 ? "long(key_counts[item])" : "kKeys");
  replace(&body, "ROWS", problem.bounded != 0 ? "long(row_counts[item])" : "kRows");
  replace(&body, "BIAS", problem.bias_items > 0 ? "bias" : "q");
  replace(&body, "TYPE", call.parameters[0].type);
  source.text = opening(problem) + "inline void library_attention(";
  for (const runtime::KernelParameter& parameter : call.parameters) {
    const bool reads = parameter.kind == runtime::KernelParameter::Kind::read;
    source.text += std::string(reads ? "device const " : "device ") + parameter.type + "* " +
                   parameter.name + ", ";
  }
  source.text += "Ctx ctx)" + body;
  return load(source, compile(source));
}

}  // namespace hearth::sim
