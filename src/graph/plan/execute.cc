// Submission: sample what is wanted, find the plan, acquire memory, launch, publish results.
#include <algorithm>
#include <string>
#include <utility>

#include "core/thread_owned.h"
#include "graph/channels_last.h"
#include "graph/hash.h"
#include "graph/outputs.h"
#include "graph/plan/plan.h"
#include "graph/record/packed.h"
#include "graph/record/tape.h"
#include "graph/switches.h"
#include "runtime/trace/timeline.h"

namespace hearth {
namespace {

// Reused between submissions of a thread, so that a hit allocates nothing but results.
struct Scratch {
  std::vector<ExternalFact> facts;
  std::vector<Address> bases;
  std::vector<Storage*> storages;
  std::vector<Address> operands;
};

// Most plans of a single op have nothing to add: testing for 0 is cheaper than adding it.
void add_to(std::atomic<std::int64_t>& counter, std::int64_t count) noexcept {
  if (count != 0) counter.fetch_add(count, std::memory_order_relaxed);
}

// True if the storage of a `node` that is dense in some order is this node's alone and the whole of
// it: it may be overwritten.
bool is_donatable(const Node& node) {
  const std::uint64_t counts = node.counts.load(std::memory_order_acquire);
  return (counts >> 32) == 0 && (counts & 0xffffffffu) == 1 &&
         node.storage->references.load(std::memory_order_acquire) == 1 &&
         node.storage->adopted == nullptr && node.layout.offset == 0 &&
         node.storage->bytes ==
             std::max<std::int64_t>(1, bytes_of(node.dtype, element_count(node.shape)));
}

// Appends to the recording's words which nodes are wanted and have not failed, a bit each; false
// where there is none.
bool describe_wanted(Recording& recording, const FailedValues& failed) {
  const std::vector<Node*>& nodes = recording.nodes;
  std::uint64_t* word = recording.words.reserve(nodes.size() / 64 + 1);
  std::uint64_t any = 0;
  for (std::size_t first = 0; first < nodes.size(); first += 64) {
    std::uint64_t bits = 0;
    const std::size_t end = std::min(nodes.size(), first + 64);
    for (std::size_t i = first; i < end; ++i) {
      prefetch(nodes[std::min(i + kPrefetchAhead, nodes.size() - 1)]);
      bits |= std::uint64_t{has_handles(*nodes[i])} << (i - first);
    }
    if (failed.any()) {
      for (std::size_t i = first; i < end; ++i) {
        bits &= ~(std::uint64_t{failed.has(i)} << (i - first));
      }
    }
    any |= bits;
    *word++ = bits;
  }
  recording.words.set_end(word);
  return any != 0;
}

// What describe_wanted() wrote from word `first` on.
std::vector<bool> wanted_nodes(const Recording& recording, std::size_t first) {
  std::vector<bool> wanted(recording.nodes.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    wanted[i] = (recording.words[first + i / 64] >> (i % 64) & 1) != 0;
  }
  return wanted;
}

// Appends what else the plan may depend on.
void describe(const DeviceImpl& device, Recording& recording, std::vector<ExternalFact>& facts) {
  WordStream& key = recording.words;
  const std::vector<Node*>& externals = recording.externals;
  std::uint64_t* const head = key.reserve(4);
  head[0] = reinterpret_cast<std::uintptr_t>(&device);
  head[1] = recording.nodes.size();
  head[2] = externals.size();
  head[3] = switches().word();
  key.set_end(head + 4);
  facts.resize(externals.size());
  for (std::size_t i = 0; i < externals.size(); ++i) {
    const Node* const ahead = externals[std::min(i + kPrefetchAhead, externals.size() - 1)];
    __builtin_prefetch(&ahead->layout);
    __builtin_prefetch(ahead->storage);
    const Node* const node = externals[i];
    const bool dense = is_dense(node->shape, node->layout.strides);
    ExternalFact& fact = facts[i];
    fact.donatable =
        (dense || is_channels_last(node->shape, node->layout.strides)) && is_donatable(*node);
    const Address first = node->storage->address + first_byte(node->dtype, node->layout);
    fact.aligned = reinterpret_cast<std::uintptr_t>(first) % kRowAlignment == 0;
    const auto rank = static_cast<std::size_t>(node->shape.rank());
    std::uint64_t* at = key.reserve(1 + 2 * rank);
    *at++ = static_cast<std::uint64_t>(node->dtype) | rank << 8 | (fact.donatable ? 1u << 16 : 0u) |
            (dense ? 1u << 17 : 0u) | (fact.aligned ? 1u << 18 : 0u) |
            (fact.donatable ? static_cast<std::uint64_t>(node->storage->bytes) << 20 : 0);
    for (const std::int64_t extent : node->shape) *at++ = static_cast<std::uint64_t>(extent);
    // Where an axis has one element its stride says nothing, but views may keep it: it is part of
    // the pattern all the same.
    for (const std::int64_t stride : node->layout.strides) {
      *at++ = static_cast<std::uint64_t>(stride);
    }
    key.set_end(at);
  }
}

// At most `count` of the values that take most memory fail for lack of it, and whoever reads
// the error learns of them, since they are what the caller can change. Of equal ones the last
// recorded.
[[noreturn]] void out_of_memory(const Error& error, const Recording& recording, const Plan& plan,
                                std::size_t count) {
  std::vector<PlanTaker> takers = plan.takers;
  std::sort(takers.begin(), takers.end(), [](const PlanTaker& a, const PlanTaker& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.node > b.node;
  });
  std::string text = std::string(error.what()) + "; the plan needs " +
                     std::to_string(plan.arena_bytes) + " bytes of arena and " +
                     std::to_string(plan.storage_bytes) + " bytes of results";
  for (std::size_t i = 0; i < takers.size() && i < 3; ++i) {
    const Node& node = *recording.nodes[takers[i].node];
    const Node* made_by = &node;
    while (made_by->op == &output_op) made_by = recording.nodes[made_by->index - 1];
    text += (i == 0 ? ", largest: " : ", ") + std::string(made_by->op->name.text) + " " +
            std::string(name(node.dtype)) + " " + to_string(node.shape);
  }
  const Error full(ErrorCode::out_of_memory, text);
  if (takers.empty()) throw full;
  std::vector<std::uint32_t> nodes;
  for (std::size_t i = 0; i < takers.size() && i < count; ++i) {
    if (takers[i].bytes < takers[0].bytes / 2) break;  // small compared with the largest
    nodes.push_back(takers[i].node);
  }
  throw NodesFailed(full, std::move(nodes));
}

// Storage of the results; released again if anything throws.
struct Results {
  std::vector<Storage*>& storages;
  ~Results() {
    for (Storage* storage : storages) release(storage);
    storages.clear();
  }
};

inline Address resolve(const PlanOperand& operand, const Plan& plan, const Address* bases,
                       const std::uint64_t* dynamics) {
  if (operand.base == PlanOperand::kNone) return nullptr;
  Address address = bases[operand.base] + operand.offset_bytes;
  for (int i = 0; i < operand.dynamic_count; ++i) {
    const DynamicOffset& offset =
        plan.dynamic_offsets[static_cast<std::size_t>(operand.first_dynamic + i)];
    address += dynamic_i64(dynamics[offset.dynamic]) * offset.stride_bytes;
  }
  return address;
}

// True if nothing that the step computes is left to be computed. A region may have other results
// too: it runs all the same, and what its lost operands give is never read.
bool is_lost(const Plan& plan, const Step& step, const FailedValues& failed) {
  const std::span<const std::uint32_t> made = plan.made_by(step);
  return !made.empty() && std::all_of(made.begin(), made.end(),
                                      [&](std::uint32_t node) { return failed.has(node); });
}

// Launches the steps from `next` on; where one throws, `next` is that step.
void launch_steps(DeviceImpl& device, const Plan& plan, const Recording& recording,
                  Scratch& scratch, const FailedValues& failed, std::size_t& next) {
  const Address* bases = scratch.bases.data();
  const std::uint64_t* dynamics = recording.dynamics.data();
  // GPUs time their kernels themselves: they run later.
  const bool is_timed = device.host_visible() && runtime::Timeline::is_recording();
  const bool some_failed = failed.any();
  const auto most_operands = static_cast<std::size_t>(plan.most_operands);
  if (scratch.operands.size() < most_operands) scratch.operands.resize(most_operands);
  Address* const addresses = scratch.operands.data();
  Launch call;
  call.operands = addresses;
  call.dynamics = dynamics;
  call.dynamic_count = static_cast<int>(recording.dynamics.size());
  for (const std::size_t end = plan.steps.size(); next < end; ++next) {
    const Step& step = plan.steps[next];
    if (some_failed && is_lost(plan, step, failed)) continue;
    const PlanOperand* operands = plan.operands.data() + step.first_operand;
    for (int i = 0; i < step.operand_count; ++i) {
      addresses[i] = resolve(operands[i], plan, bases, dynamics);
    }
    call.signature = step.signature.get();
    call.state = step.state.get();
    call.operand_count = step.operand_count;
    call.output_count = step.output_count;
    call.early = step.early;
    call.early_bytes = step.early_bytes;
    call.workspace = resolve(step.workspace, plan, bases, dynamics);
    if (!is_timed) {
      device.dispatch(step.launch, call);
      continue;
    }
    const double start = runtime::Timeline::now();
    device.dispatch(step.launch, call);
    const double seconds = runtime::Timeline::now() - start;
    const std::string_view name =
        step.signature == nullptr ? "region" : step.signature->op->name.text;
    runtime::Timeline::global().add_kernel(device.kind(), name, start, seconds);
  }
}

// Donated inputs may be overwritten by the time a step throws: what does not need its result is
// computed by the other steps of the same plan.
void launch(DeviceImpl& device, const Plan& plan, const Recording& recording, Scratch& scratch,
            FailedValues& failed) {
  for (std::size_t next = 0; next < plan.steps.size();) {
    try {
      launch_steps(device, plan, recording, scratch, failed, next);
    } catch (...) {
      if (!failed.add(plan.made_by(plan.steps[next]), caught_error())) throw;
      ++next;
    }
  }
}

void publish(const Plan& plan, const Recording& recording, Scratch& scratch,
             const FailedValues& failed, std::int64_t plan_number) {
  const bool some_failed = failed.any();
  for (std::size_t i = 0; i < plan.storages.size(); ++i) {
    scratch.storages[i]->early_plan = plan.storages[i].is_early ? plan_number : 0;
  }
  for (const PlanEscape& escape : plan.escapes) {
    if (some_failed && failed.has(escape.node)) continue;
    Node& node = *recording.nodes[escape.node];
    Storage* storage = nullptr;
    std::int64_t offset = escape.layout.offset;
    const std::int64_t offset_unit = is_packed(node.dtype) ? 1 : size_of(node.dtype);
    if (escape.base > plan.external_count) {
      storage = scratch.storages[static_cast<std::size_t>(escape.base - 1 - plan.external_count)];
    } else {
      const Node& external = *recording.externals[static_cast<std::size_t>(escape.base - 1)];
      storage = external.storage;
      offset += first_byte(external.dtype, external.layout) / offset_unit;
    }
    for (int i = 0; i < escape.dynamic_count; ++i) {
      const DynamicOffset& dynamic =
          plan.dynamic_offsets[static_cast<std::size_t>(escape.first_dynamic + i)];
      offset += dynamic_i64(recording.dynamics[static_cast<std::size_t>(dynamic.dynamic)]) *
                (dynamic.stride_bytes / offset_unit);
    }
    retain(storage);
    node.storage = storage;
    node.layout.offset = offset;
    node.layout.strides = escape.layout.strides;
    node.state.store(NodeState::ready, std::memory_order_release);
  }
}

// The plan of what is wanted and has not failed, found or built; null where nothing is. The words
// of the recording are its key then.
std::shared_ptr<const Plan> find_or_build(DeviceImpl& device, Recording& recording,
                                          const FailedValues& failed,
                                          std::vector<ExternalFact>& facts) {
  const std::size_t described = recording.words.size();
  if (!describe_wanted(recording, failed)) return nullptr;
  describe(device, recording, facts);
  const std::span<const std::uint64_t> key = recording.words.span();
  const std::uint64_t hash = hash_words(key);
  Counters& count = counters();
  std::shared_ptr<const Plan> plan = find_plan(hash, key);
  if (plan != nullptr) {
    count.plan_hits.fetch_add(1, std::memory_order_relaxed);
  } else {
    count.plan_misses.fetch_add(1, std::memory_order_relaxed);
    const runtime::HostSpan span("build plan");
    plan = build_plan(device, recording, wanted_nodes(recording, described), facts);
    keep_plan(hash, plan);
  }
  return plan;
}

// Runs what has not failed. Throws what went wrong before the first launch; then no node has
// changed. `most_blamed` values at most fail where memory is short.
void run(DeviceImpl& device, Recording& recording, FailedValues& failed, std::size_t most_blamed) {
  Scratch& scratch = ThreadOwned<Scratch>::get();
  const auto plan = find_or_build(device, recording, failed, scratch.facts);
  if (plan == nullptr) return;
  Counters& count = counters();
  // The caller's lists may be in use by a submission further up this thread's stack only if a
  // kernel recorded ops, which kernels must not do.
  Results results{scratch.storages};
  std::int64_t plan_number = 0;
  {
    const std::lock_guard lock(device.queue_mutex());
    try {
      scratch.bases.resize(1 + recording.externals.size() + plan->storages.size());
      Address* base = scratch.bases.data();
      *base++ = nullptr;
      for (const Node* node : recording.externals) {
        *base++ = node->storage->address + first_byte(node->dtype, node->layout);
      }
      for (const PlanStorage& planned : plan->storages) {
        Storage* storage = nullptr;
        if (planned.donor >= 0) {
          storage = recording.externals[static_cast<std::size_t>(planned.donor)]->storage;
          retain(storage);
        } else {
          storage = allocate_storage(device, planned.bytes);
        }
        scratch.storages.push_back(storage);
        *base++ = storage->address;
      }
      // Last, so that the device sees what the plan needs in all: its results and its arena.
      if (plan->arena_bytes > 0) scratch.bases[0] = device.arena(plan->arena_bytes);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::out_of_memory) {
        out_of_memory(error, recording, *plan, most_blamed);
      }
      throw;
    }
    device.begin_plan(plan, plan->arena_bytes);
    try {
      launch(device, *plan, recording, scratch, failed);
      device.end_plan();
      plan_number = device.plans();
    } catch (...) {
      device.abandon_plan();
      throw;
    }
  }
  publish(*plan, recording, scratch, failed, plan_number);
  add_to(count.dispatches, static_cast<std::int64_t>(plan->steps.size()));
  add_to(count.fused, plan->fused);
  add_to(count.copies, plan->copies);
  add_to(count.donations, plan->donations);
}

bool has_failed(const Node* node) {
  return node->state.load(std::memory_order_acquire) == NodeState::failed;
}

// What reads an external that has failed fails with it. A number that nothing reads takes its
// place, since it has no memory.
void fail_readers_of_failed(DeviceImpl& device, Recording& recording, FailedValues& failed) {
  std::vector<Node*>& externals = recording.externals;
  if (std::none_of(externals.begin(), externals.end(), has_failed)) return;
  failed.add_readers_of_failed();
  // Its own reference keeps the storage from being freed or donated.
  static Storage* const nothing = [] {
    auto* const storage = new Storage;
    storage->address = reinterpret_cast<Address>(storage);
    return storage;
  }();
  retain(nothing);
  const Array number = make_ready(device, nothing, DType::f32, Shape());
  for (Node*& external : externals) {
    if (!has_failed(external)) continue;
    node_of(number)->counts.fetch_add(kReference, std::memory_order_relaxed);
    release(std::exchange(external, node_of(number)), kReference);
  }
}

}  // namespace

std::shared_ptr<const Plan> plan_of(DeviceImpl& device, Recording& recording) {
  for (const Node* external : recording.externals) {
    if (has_failed(external)) throw Error(external->failure->error);
  }
  struct Restored {
    WordStream& words;
    const std::size_t size;
    ~Restored() { words.set_end(words.data() + size); }
  } const restored{recording.words, recording.words.size()};
  std::vector<ExternalFact> facts;
  try {
    return find_or_build(device, recording, FailedValues(recording), facts);
  } catch (const NodesFailed& error) {
    throw Error(error);
  }
}

void execute(DeviceImpl& device, Recording& recording, FailedValues& failed) noexcept try {
  const std::size_t described = recording.words.size();
  fail_readers_of_failed(device, recording, failed);
  // Twice as many each time: a recording of thousands of values is planned again a dozen times.
  for (std::size_t most_blamed = 1;; most_blamed *= 2) {
    try {
      return run(device, recording, failed, most_blamed);
    } catch (const NodesFailed& error) {
      if (!failed.add(error.nodes(), error)) throw;
    }
    recording.words.set_end(recording.words.data() + described);
  }
} catch (...) {
  failed.add_all(caught_error());
}

}  // namespace hearth
