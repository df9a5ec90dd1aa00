// The parameters of a Metal entry point, by their attributes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/msl/entries.h"

namespace hearth::gpu {

// A parameter of an entry point.
struct MetalParameter {
  enum class Kind : std::uint8_t {
    memory,       // device T*, device T&, constant T*
    constant,     // constant T&
    threadgroup,  // threadgroup T*
    position,     // where the thread is
  };
  Kind kind = Kind::memory;
  std::string name;
  std::string type;           // of memory: "T" of device const T*, as the text writes it
  bool is_const = false;      // it is not written
  bool is_reference = false;  // T&
  int index = -1;             // of its buffer, or threadgroup memory
  std::string position;       // the attribute: "thread_position_in_grid"
  bool is_absent = false;     // a function constant says that it is not there
};

// The parameters of an entry, in order. Buffers without an index get the lowest that is free.
// Throws Error{unsupported} for what is no memory, constant or position, and
// Error{invalid_argument} for what Metal would refuse as well.
std::vector<MetalParameter> parameters_of(const MetalText& text, const MetalEntry& entry);

}  // namespace hearth::gpu
