#include "devices/metal/driver/capture.h"

#include <filesystem>

#include "hearth/error.h"

namespace hearth::metal {
namespace {

constexpr Integer kTraceDocument = 2;  // MTLCaptureDestinationGPUTraceDocument

}  // namespace

std::shared_ptr<Capture> Capture::open(std::shared_ptr<const ObjectiveC> objc,
                                       const std::string& file, std::vector<std::string>& notes) {
  if (file.empty()) return nullptr;
  const AutoreleasePool pool(*objc);
  const Id type = objc->type_named("MTLCaptureManager");
  const Id manager = type == nullptr || objc->type_named("MTLCaptureDescriptor") == nullptr
                         ? nullptr
                         : objc->send(type, messages::capture_manager);
  if (manager == nullptr ||
      !objc->check(manager, "MTLCaptureManager", MessageInfo::Receiver::object, notes)) {
    notes.emplace_back("HEARTH_METAL_CAPTURE: this system has no capture");
    return nullptr;
  }
  if (objc->send(manager, messages::supports_destination, kTraceDocument) == 0) {
    notes.emplace_back(
        "HEARTH_METAL_CAPTURE: nothing is captured, since this process may not; "
        "MTL_CAPTURE_ENABLED=1 in its environment allows it");
    return nullptr;
  }
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(file, error);
  return std::shared_ptr<Capture>(
      new Capture(std::move(objc), manager, error ? file : whole.string()));
}

void Capture::start(Id device) {
  const AutoreleasePool pool(*objc_);
  const Owned descriptor =
      objc_->send(objc_->type_named("MTLCaptureDescriptor"), messages::new_capture_descriptor);
  objc_->send(descriptor.get(), messages::set_capture_object, device);
  objc_->send(descriptor.get(), messages::set_capture_destination, kTraceDocument);
  objc_->send(descriptor.get(), messages::set_capture_url,
              objc_->send(objc_->type_named("NSURL"), messages::file_url, objc_->string(file_)));
  Id error = nullptr;
  if (objc_->send(manager_, messages::start_capture, descriptor.get(), &error) != 0) return;
  std::string text = "metal: HEARTH_METAL_CAPTURE: no capture to ";
  text.append(file_).append(": ").append(objc_->error_text(error));
  throw Error(ErrorCode::device, text);
}

void Capture::stop() noexcept {
  const AutoreleasePool pool(*objc_);
  objc_->send(manager_, messages::stop_capture);
}

}  // namespace hearth::metal
