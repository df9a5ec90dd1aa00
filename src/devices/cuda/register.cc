#include "devices/cuda/register.h"

#include "devices/cuda/cublas/cublas_lt.h"
#include "devices/cuda/cudnn/cudnn.h"
#include "devices/cuda/cusolver/cusolver.h"
#include "devices/cuda/driver/compile/nvrtc.h"
#include "devices/cuda/driver/cuda_driver.h"
#include "devices/cuda/driver/driver_api.h"
#include "hearth/error.h"

namespace hearth::cuda {
namespace {

gpu::LastSearch& last_search() {
  static auto* const search = new gpu::LastSearch;  // lives as long as the process
  return *search;
}

// The libraries beside the driver, as far as they are there.
std::vector<LibraryMaker> open_libraries(const Places& places, int driver_version,
                                         const std::shared_ptr<CusolverOpener>& cusolver,
                                         std::vector<std::string>& notes) {
  std::vector<LibraryMaker> libraries;
  if (const auto cublas = open_cublas_lt(places, driver_version, notes)) {
    libraries.emplace_back(
        [cublas](Context& context) { return std::make_unique<CublasLt>(cublas, context); });
  }
  if (const auto cudnn = open_cudnn(places, notes)) {
    libraries.emplace_back([cudnn](Context& context) {
      return std::make_unique<Cudnn>(cudnn, context,
                                     compute_capability(context.api(), context.card()));
    });
  }
  libraries.emplace_back(
      [cusolver](Context& context) { return std::make_unique<Cusolver>(cusolver, context); });
  return libraries;
}

std::unique_ptr<runtime::Driver> open_card(const std::shared_ptr<const DriverApi>& api,
                                           const std::shared_ptr<const Nvrtc>& compiler,
                                           std::span<const LibraryMaker> libraries, int ordinal,
                                           std::vector<std::string>& notes) {
  const std::string prefix = "card " + std::to_string(ordinal) + ": ";
  Card card = 0;
  if (const Result result = api->cuDeviceGet(&card, ordinal); result != Result::success) {
    notes.push_back(prefix + "cuDeviceGet gives " + describe(*api, result));
    return nullptr;
  }
  try {
    auto driver = std::make_unique<CudaDriver>(api, card, compiler, libraries);
    const runtime::Properties& properties = driver->properties();
    const std::string name = properties.name + ", " + properties.architecture;
    if (const int capability = compute_capability(*api, card); capability < compiler->oldest()) {
      notes.push_back(prefix + name + ": too old for the compiler, which begins at sm_" +
                      std::to_string(compiler->oldest()));
      return nullptr;
    }
    notes.push_back(prefix + name);
    return driver;
  } catch (const Error& error) {
    notes.push_back(prefix + error.what());
    return nullptr;
  }
}

}  // namespace

gpu::FoundDevices find_cards(const Places& places) {
  gpu::FoundDevices cards;
  std::vector<std::string>& notes = cards.notes;
  const auto api = open_driver_api(places, notes);
  if (api == nullptr) return cards;
  cards.system = "CUDA " + version_text(*api);
  int count = 0;
  if (const Result result = api->cuDeviceGetCount(&count); result != Result::success) {
    notes.push_back("cards cannot be counted: cuDeviceGetCount gives " + describe(*api, result));
    return cards;
  }
  if (count == 0) {
    notes.emplace_back("the NVIDIA driver sees no card");
    return cards;
  }
  const auto compiler = Nvrtc::open(places, driver_version(*api), notes);
  if (compiler == nullptr) return cards;
  const auto cusolver = std::make_shared<CusolverOpener>(places, driver_version(*api));
  const auto libraries = open_libraries(places, driver_version(*api), cusolver, notes);
  cards.late_notes = [cusolver] { return cusolver->notes(); };
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    if (auto driver = open_card(api, compiler, libraries, ordinal, notes)) {
      cards.drivers.push_back(std::move(driver));
    }
  }
  return cards;
}

std::vector<std::unique_ptr<runtime::Driver>> open_drivers() {
  return last_search().keep(find_cards(Places::from_environment()));
}

std::string system_name() { return last_search().system(); }

std::vector<std::string> notes() { return last_search().notes(); }

}  // namespace hearth::cuda
