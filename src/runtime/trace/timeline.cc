#include "runtime/trace/timeline.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>

#include "core/forked.h"
#include "hearth/error.h"
#include "runtime/device/environment.h"

namespace hearth {
inline namespace v0 {
namespace runtime {
namespace {

// Events beyond are counted, not kept.
constexpr std::size_t kMaxEvents = std::size_t{1} << 22;

struct Event {
  std::string name;
  int track = 0;  // a thread from 0 on, a device from -1 down
  double start = 0;
  double seconds = 0;
  bool is_batch = false;  // of kernels, of a device
};

struct Events {
  std::mutex mutex;
  std::deque<Event> list;
  std::int64_t dropped = 0;
  std::vector<std::string> devices;  // by track, -1 first
};

Events& events() {
  static auto* events = new Events;
  return *events;
}

int thread_track() {
  static std::atomic<int> next{0};
  thread_local const int mine = next++;
  return mine;
}

void add(Events& all, Event event) {
  if (all.list.size() < kMaxEvents) {
    all.list.push_back(std::move(event));
  } else {
    ++all.dropped;
  }
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + '"';
}

// Microseconds.
std::string number(double seconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f", seconds * 1e6);
  return text;
}

// The track of a device. The caller holds the events.
int device_track(Events& all, const std::string& device) {
  auto found = std::find(all.devices.begin(), all.devices.end(), device);
  if (found == all.devices.end()) found = all.devices.insert(found, device);
  return -1 - static_cast<int>(found - all.devices.begin());
}

// Of devices, summed up by name, the longest first.
std::vector<KernelTime> times_by_name(std::size_t first, bool of_batches) {
  std::map<std::string, KernelTime> by_name;
  {
    const std::lock_guard lock(events().mutex);
    for (std::size_t i = first; i < events().list.size(); ++i) {
      const Event& event = events().list[i];
      if (event.track >= 0 || event.is_batch != of_batches) continue;
      KernelTime& time = by_name[event.name];
      time.name = event.name;
      ++time.launches;
      time.seconds += event.seconds;
    }
  }
  std::vector<KernelTime> out;
  for (auto& [name, time] : by_name) out.push_back(std::move(time));
  std::sort(out.begin(), out.end(), [](const KernelTime& a, const KernelTime& b) {
    return a.seconds != b.seconds ? a.seconds > b.seconds : a.name < b.name;
  });
  return out;
}

std::string process_name(int process, const std::string& name) {
  return "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" + std::to_string(process) +
         ",\"args\":{\"name\":" + json_text(name) + "}}";
}

}  // namespace

std::atomic<int> Timeline::recordings_{0};

Timeline& Timeline::global() {
  static Timeline timeline;
  return timeline;
}

void Timeline::start() { ++recordings_; }

void Timeline::stop() noexcept {
  if (--recordings_ > 0) return;
  const std::lock_guard lock(events().mutex);
  events().list.clear();
  events().dropped = 0;
}

void Timeline::trace_process() {
  if (environment().trace.empty()) return;
  static std::once_flag once;
  std::call_once(once, [] {
    watch_forks();
    global().start();
    std::atexit([] {
      if (is_forked()) return;  // the file is the parent's
      try {
        global().write(environment().trace, 0);
      } catch (const Error& error) {
        std::fprintf(stderr, "hearth: %s\n", error.what());
      }
    });
  });
}

double Timeline::now() noexcept {
  static const auto start = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Timeline::add_host(std::string_view name, double start, double seconds) {
  const int track = thread_track();
  const std::lock_guard lock(events().mutex);
  add(events(), {std::string(name), track, start, seconds});
}

void Timeline::add_kernel(const std::string& device, std::string_view kernel, double start,
                          double seconds) {
  Events& all = events();
  const std::lock_guard lock(all.mutex);
  add(all, {std::string(kernel), device_track(all, device), start, seconds});
}

void Timeline::add_batch(const std::string& device, std::string_view label, double start,
                         double seconds) {
  Events& all = events();
  const std::lock_guard lock(all.mutex);
  add(all, {std::string(label), device_track(all, device), start, seconds, true});
}

std::size_t Timeline::size() const {
  const std::lock_guard lock(events().mutex);
  return events().list.size();
}

std::vector<KernelTime> Timeline::kernels(std::size_t first) const {
  return times_by_name(first, false);
}

std::vector<KernelTime> Timeline::batches(std::size_t first) const {
  return times_by_name(first, true);
}

void Timeline::write(const std::string& path, std::size_t first) const {
  std::ofstream file(path, std::ios::binary);
  {
    const std::lock_guard lock(events().mutex);
    file << "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":" << events().dropped
         << "},\"traceEvents\":[\n"
         << process_name(0, "host");
    for (std::size_t i = 0; i < events().devices.size(); ++i) {
      file << ",\n"
           << process_name(static_cast<int>(i) + 1,
                           events().devices[i] + ", kernels run one by one to be timed");
    }
    for (std::size_t i = first; i < events().list.size(); ++i) {
      const Event& event = events().list[i];
      const bool is_host = event.track >= 0;
      file << ",\n{\"ph\":\"X\",\"name\":" << json_text(event.name)
           << ",\"pid\":" << (is_host ? 0 : -event.track) << ",\"tid\":"
           << (is_host          ? event.track
               : event.is_batch ? 1
                                : 0)
           << ",\"ts\":" << number(event.start) << ",\"dur\":" << number(event.seconds) << "}";
    }
    file << "\n]}\n";
  }
  file.close();
  if (!file) {
    throw Error(ErrorCode::io,
                "timeline: cannot write; got '" + path + "', expected a file that can be written");
  }
}

Profile::Profile() : first_(Timeline::global().size()) { Timeline::global().start(); }
Profile::~Profile() { Timeline::global().stop(); }
std::vector<KernelTime> Profile::kernels() const { return Timeline::global().kernels(first_); }
std::vector<KernelTime> Profile::batches() const { return Timeline::global().batches(first_); }
void Profile::write_timeline(const std::string& path) const {
  Timeline::global().write(path, first_);
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
