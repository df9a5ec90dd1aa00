// Signals: hearth/ops/signal.h.
#include "tools/bindings/call_lists.h"

#include "hearth/ops.h"
#include "tools/bindings/call_macros.h"

namespace hearth::tools {
namespace {

const char* const kComplex =
    "re [..., extent, ...], im [..., extent, ...] -> re and im [..., n, ...], extent at axis";
const char* const kComplexSame = "re [...], im [...] -> re and im [...]";

}  // namespace

std::vector<FunctionCall> signal_calls() {
  const SampleInput table = {{2, 3}};
  return {
      {"fft", kComplex, {table, table}, CALL_OF_ALL(fft(in[0], in[1]))},
      {"ifft", kComplex, {table, table}, CALL_OF_ALL(ifft(in[0], in[1]))},
      {"rfft",
       "x [..., extent, ...] -> re and im [..., n / 2 + 1, ...], extent at axis",
       {table},
       CALL_OF_ALL(rfft(in[0]))},
      {"irfft",
       "re [..., bins, ...], im [..., bins, ...] -> [..., n, ...], bins at axis",
       {table, table},
       CALL(irfft(in[0], in[1]))},
      {"fftn", kComplexSame, {table, table}, CALL_OF_ALL(fftn(in[0], in[1], {0}))},
      {"ifftn", kComplexSame, {table, table}, CALL_OF_ALL(ifftn(in[0], in[1], {0}))},
      {"rfftn",
       "x [..., n, ...] -> re and im [..., n / 2 + 1, ...], n at the last of axes",
       {table},
       CALL_OF_ALL(rfftn(in[0], {0}))},
      {"irfftn",
       "re [..., bins, ...], im [..., bins, ...] -> [..., n, ...], bins at the last of axes",
       {table, table},
       CALL(irfftn(in[0], in[1], {1}))},
      {"fft2", kComplexSame, {table, table}, CALL_OF_ALL(fft2(in[0], in[1]))},
      {"ifft2", kComplexSame, {table, table}, CALL_OF_ALL(ifft2(in[0], in[1]))},
      {"fftfreq", "-> [n]", {}, CALL(fftfreq(2, 1, dtype))},
      {"rfftfreq", "-> [n / 2 + 1]", {}, CALL(rfftfreq(2, 1, dtype))},
      {"fftshift", kSame, {table}, CALL(fftshift(in[0], {0}))},
      {"ifftshift", kSame, {table}, CALL(ifftshift(in[0], {0}))},
      {"hann_window", "-> [size]", {}, CALL(hann_window(2, true, dtype))},
      {"hamming_window", "-> [size]", {}, CALL(hamming_window(2, true, 0.54, dtype))},
      {"blackman_window", "-> [size]", {}, CALL(blackman_window(2, true, dtype))},
      {"stft",
       "signal [samples] or [batch, samples], window [win_length] -> [frames, frequencies, 2] or "
       "[batch, frames, frequencies, 2]",
       {{.shape = {1, 8}}, {.shape = {4}}},
       CALL(stft(in[0], in[1], {.n_fft = 4}))},
      {"istft",
       "spectrum [frames, frequencies, 2] or [batch, frames, frequencies, 2], window [win_length] "
       "-> "
       "[samples] or [batch, samples]",
       {{.shape = {1, 3, 3, 2}}, {.shape = {4}}},
       CALL(istft(in[0], in[1], {.n_fft = 4}))},
  };
}

}  // namespace hearth::tools
