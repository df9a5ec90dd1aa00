// Products of bf16 by AMX, where the processor has it and the system lets it be used.
#include "devices/cpu/gemm/amx.h"

#include "devices/cpu/gemm/amx_emulated.h"

#if defined(HEARTH_AMX_X86)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace hearth::cpu {
namespace {

// What fits the cores that have tiles: their first-level caches of 48 KiB hold two thirds of B for
// two tiles across, their second-level caches of 2 MiB a task's A and sums.
constexpr GemmBlocking kAmxBlocking = {.row_panel = kTileRows,
                                       .row_unit = 2 * kTileRows,
                                       .group_unit = kTilePairs,
                                       .depth_bytes = 1024,
                                       .task_rows = 256,
                                       .task_cols = 256,
                                       .local_rows = 128,
                                       .least_cols = 128};

template <class Tiles>
Bf16Gemm gemm_by_amx() {
  const AmxPacking& packing = amx_packing();
  return {{kTileCols, kTilesAcross, false, AmxProduct<Tiles>::run, nullptr, nullptr, packing.a,
           kAmxBlocking},
          {packing.b, cpu_gemm().copy_bf16},
          AmxProduct<Tiles>::walk};
}

#if defined(HEARTH_AMX_X86)

struct AmxTiles {
  static HEARTH_AMX void configure() {
    struct Config {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    };
    static_assert(sizeof(Config) == 64);
    alignas(64) static const Config config;
    _tile_loadconfig(&config);
    // The compiler does not see what tiles are loaded from.
    __asm__ volatile("" ::: "memory");
  }
  static HEARTH_AMX void release() { _tile_release(); }

  // The number of a tile is part of the instruction's text.
  template <int kTile>
  static HEARTH_AMX inline void load(const void* from, std::int64_t stride) {
    if constexpr (kTile < 4) __asm__ volatile("" ::: "memory");  // C, which was written here
    if constexpr (kTile == 0) _tile_loadd(0, from, stride);
    if constexpr (kTile == 1) _tile_loadd(1, from, stride);
    if constexpr (kTile == 2) _tile_loadd(2, from, stride);
    if constexpr (kTile == 3) _tile_loadd(3, from, stride);
    if constexpr (kTile == 4) _tile_loadd(4, from, stride);
    if constexpr (kTile == 5) _tile_loadd(5, from, stride);
    if constexpr (kTile == 6) _tile_loadd(6, from, stride);
    if constexpr (kTile == 7) _tile_loadd(7, from, stride);
  }
  template <int kTile>
  static HEARTH_AMX inline void zero() {
    if constexpr (kTile == 0) _tile_zero(0);
    if constexpr (kTile == 1) _tile_zero(1);
    if constexpr (kTile == 2) _tile_zero(2);
    if constexpr (kTile == 3) _tile_zero(3);
  }
  template <int kTile>
  static HEARTH_AMX inline void store(void* to, std::int64_t stride) {
    if constexpr (kTile == 0) _tile_stored(0, to, stride);
    if constexpr (kTile == 1) _tile_stored(1, to, stride);
    if constexpr (kTile == 2) _tile_stored(2, to, stride);
    if constexpr (kTile == 3) _tile_stored(3, to, stride);
  }
  template <int kC, int kA, int kB>
  static HEARTH_AMX inline void dot() {
    static_assert(kA == 4 + kC / 2 && kB == 6 + kC % 2);
    if constexpr (kC == 0) _tile_dpbf16ps(0, 4, 6);
    if constexpr (kC == 1) _tile_dpbf16ps(1, 4, 7);
    if constexpr (kC == 2) _tile_dpbf16ps(2, 5, 6);
    if constexpr (kC == 3) _tile_dpbf16ps(3, 5, 7);
  }
};

// The state of tiles is large, so that Linux wants to be asked before the first use; the answer
// holds for all threads of the process.
bool may_use_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;
  if ((d & kBf16) == 0 || (d & kTile) == 0) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

#endif

}  // namespace

const Bf16Gemm* amx_gemm() {
#if defined(HEARTH_AMX_X86)
  static const Bf16Gemm* const found = []() -> const Bf16Gemm* {
    if (!may_use_amx()) return nullptr;
    static const Bf16Gemm gemm = gemm_by_amx<AmxTiles>();
    return &gemm;
  }();
  return found;
#else
  return nullptr;
#endif
}

const Bf16Gemm& emulated_amx_gemm() {
  static const Bf16Gemm gemm = gemm_by_amx<EmulatedAmx>();
  return gemm;
}

}  // namespace hearth::cpu
