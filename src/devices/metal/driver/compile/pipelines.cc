#include "devices/metal/driver/compile/pipelines.h"

#include <stdlib.h>  // mkdtemp, here or there
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "devices/metal/driver/compile/bindings.h"
#include "hearth/error.h"

namespace hearth::metal {
namespace {

// A file of a name that nobody else has, gone at the end.
class TemporaryFile {
 public:
  TemporaryFile() {
    std::error_code error;
    std::string folder = std::filesystem::temp_directory_path(error).string() + "/hearth-XXXXXX";
    if (!error && mkdtemp(folder.data()) != nullptr) folder_ = folder;
  }
  ~TemporaryFile() {
    std::error_code error;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // False where there is no place for it.
  explicit operator bool() const { return !folder_.empty(); }
  std::string path() const { return folder_ + "/kernel.metallib"; }
  std::vector<std::byte> read() const {
    std::ifstream file(path(), std::ios::binary | std::ios::ate);
    if (!file) return {};
    std::vector<std::byte> bytes(static_cast<std::size_t>(file.tellg()));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return file ? bytes : std::vector<std::byte>();
  }
  bool write(std::span<const std::byte> bytes) const {
    std::ofstream file(path(), std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    file.close();
    return static_cast<bool>(file);
  }

 private:
  std::string folder_;
};

}  // namespace

Owned pipeline_descriptor(const ObjectiveC& objc, const runtime::KernelSource& source, Id library) {
  const AutoreleasePool pool(objc);
  const Bindings bindings = bindings_of(source);
  const Owned function = objc.send(library, messages::new_function, objc.string(bindings.entry));
  if (!function) {
    throw Error(ErrorCode::corrupt_file, "metal: the image of kernel " + source.name +
                                             " cannot be loaded; got a library without " +
                                             bindings.entry);
  }
  Owned descriptor =
      objc.send(objc.type_named("MTLComputePipelineDescriptor"), messages::new_pipeline_descriptor);
  objc.send(descriptor.get(), messages::set_compute_function, function.get());
  objc.send(descriptor.get(), messages::set_pipeline_label, objc.string(source.name));
  objc.send(descriptor.get(), messages::set_max_threads, static_cast<UInteger>(source.max_threads));
  // Threadgroups at the end of a grid in threads may be cut.
  if (!bindings.takes_grid) objc.send(descriptor.get(), messages::set_whole_simdgroups, Bool{1});
  return descriptor;
}

Pipelines::Pipelines(const ObjectiveC& objc, Id device) : objc_(objc), device_(device) {
  const AutoreleasePool pool(objc);
  const Owned archive = open(nullptr);
  std::vector<std::string> lines;
  has_archives_ = archive && objc.check(archive.get(), "MTLBinaryArchive",
                                        MessageInfo::Receiver::object, lines);
}

Owned Pipelines::open(Id url) const {
  const Id type = objc_.type_named("MTLBinaryArchiveDescriptor");
  if (type == nullptr) return {};
  const Owned descriptor = objc_.send(type, messages::new_archive_descriptor);
  if (url != nullptr) objc_.send(descriptor.get(), messages::set_archive_url, url);
  Id error = nullptr;
  return objc_.send(device_, messages::new_archive, descriptor.get(), &error);
}

std::vector<std::byte> Pipelines::archive_of(Id descriptor) const {
  if (!has_archives_) return {};
  const AutoreleasePool pool(objc_);
  const TemporaryFile file;
  const Owned archive = open(nullptr);
  if (!file || !archive) return {};
  Id error = nullptr;
  if (objc_.send(archive.get(), messages::add_compute_functions, descriptor, &error) == 0) {
    return {};
  }
  const Id url =
      objc_.send(objc_.type_named("NSURL"), messages::file_url, objc_.string(file.path()));
  if (objc_.send(archive.get(), messages::serialize, url, &error) == 0) return {};
  return file.read();
}

Owned Pipelines::make(Id descriptor, std::span<const std::byte> archive, Id* error) const {
  if (has_archives_ && !archive.empty()) {
    // Until the pipeline is made: it is not said when an archive reads its file.
    const TemporaryFile file;
    Owned opened;
    if (file && file.write(archive)) {
      opened = open(
          objc_.send(objc_.type_named("NSURL"), messages::file_url, objc_.string(file.path())));
    }
    if (opened) {
      objc_.send(descriptor, messages::set_archives,
                 objc_.send(objc_.type_named("NSArray"), messages::array_of, opened.get()));
      Owned pipeline =
          objc_.send(device_, messages::new_pipeline, descriptor, UInteger{0}, nullptr, error);
      objc_.send(descriptor, messages::set_archives, nullptr);
      if (pipeline) return pipeline;
    }
  }
  return objc_.send(device_, messages::new_pipeline, descriptor, UInteger{0}, nullptr, error);
}

}  // namespace hearth::metal
