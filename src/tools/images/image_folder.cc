#include "tools/images/image_folder.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "hearth/error.h"
#include "io/cifar.h"
#include "io/idx.h"

namespace hearth::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIdxTrain = "train-images-idx3-ubyte";
constexpr const char* kCifar10Train = "data_batch_1.bin";
constexpr const char* kCifar100Train = "train.bin";

std::string path_in(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).string();
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

[[noreturn]] void refuse(ErrorCode code, const std::string& path, const std::string& what,
                         std::size_t position) {
  throw Error(code, "images: " + path + ": " + what + "; at byte " + std::to_string(position));
}

void append(std::span<const std::byte> bytes, std::vector<std::uint8_t>& out) {
  const auto* const first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  out.insert(out.end(), first, first + bytes.size());
}

io::IdxFile open_idx(const std::string& path, int rank) {
  io::IdxFile file = io::IdxFile::open(path);
  if (file.dtype() != DType::u8) {
    refuse(ErrorCode::unsupported, path,
           "elements that are no bytes; got " + std::string(name(file.dtype())) + ", expected u8",
           2);
  }
  if (file.shape().rank() != rank) {
    refuse(ErrorCode::corrupt_file, path,
           "extents of something else; got " + to_string(file.shape()) + ", expected " +
               std::to_string(rank) + " of them",
           3);
  }
  if (std::find(file.shape().begin(), file.shape().end(), 0) != file.shape().end()) {
    refuse(ErrorCode::corrupt_file, path, "no images; got " + to_string(file.shape()), 4);
  }
  return file;
}

// Reads images and labels `prefix`-images-idx3-ubyte and `prefix`-labels-idx1-ubyte. The first pair
// says how large the images are and how many classes there are.
ImageSet read_idx(const std::string& folder, const std::string& prefix, ImageData& data) {
  const std::string image_path = path_in(folder, prefix + "-images-idx3-ubyte");
  const std::string label_path = path_in(folder, prefix + "-labels-idx1-ubyte");
  const io::IdxFile images = open_idx(image_path, 3);
  const io::IdxFile labels = open_idx(label_path, 1);
  if (images.shape()[0] != labels.shape()[0]) {
    refuse(ErrorCode::corrupt_file, label_path,
           "labels of other images; got " + std::to_string(labels.shape()[0]) + ", expected " +
               std::to_string(images.shape()[0]),
           4);
  }
  ImageSet out;
  append(images.elements(), out.pixels);
  append(labels.elements(), out.labels);
  if (data.classes == 0) {
    data.height = images.shape()[1];
    data.width = images.shape()[2];
    data.classes = std::max(2, *std::max_element(out.labels.begin(), out.labels.end()) + 1);
  }
  if (images.shape()[1] != data.height || images.shape()[2] != data.width) {
    refuse(ErrorCode::corrupt_file, image_path,
           "images of another size than those for training; got " + to_string(images.shape()), 8);
  }
  const auto wrong = std::find_if(out.labels.begin(), out.labels.end(),
                                  [&](std::uint8_t label) { return label >= data.classes; });
  if (wrong != out.labels.end()) {
    refuse(ErrorCode::corrupt_file, label_path,
           "label out of range; got " + std::to_string(*wrong) + ", expected 0 to " +
               std::to_string(data.classes - 1),
           labels.begin() + static_cast<std::size_t>(wrong - out.labels.begin()));
  }
  return out;
}

ImageData read_idx_folder(const std::string& folder) {
  ImageData data;
  data.channels = 1;
  data.mirrors = false;  // digits and letters are not
  data.train = read_idx(folder, "train", data);
  data.held_out = read_idx(folder, "t10k", data);
  return data;
}

void append_cifar(const std::string& path, io::CifarKind kind, ImageSet& out) {
  const io::CifarFile file = io::CifarFile::open(path, kind);
  for (std::size_t i = 0; i < file.count(); ++i) {
    append(file.pixels(i), out.pixels);
    out.labels.push_back(file.label(i));
  }
}

ImageData read_cifar_folder(const std::string& folder, io::CifarKind kind) {
  ImageData data;
  data.channels = 3;
  data.height = io::kCifarSide;
  data.width = io::kCifarSide;
  data.classes = io::cifar_classes(kind);
  if (kind == io::CifarKind::cifar10) {
    for (int i = 1; i <= 5; ++i) {
      append_cifar(path_in(folder, "data_batch_" + std::to_string(i) + ".bin"), kind, data.train);
    }
    append_cifar(path_in(folder, "test_batch.bin"), kind, data.held_out);
  } else {
    append_cifar(path_in(folder, kCifar100Train), kind, data.train);
    append_cifar(path_in(folder, "test.bin"), kind, data.held_out);
  }
  return data;
}

ImageData read_known_folder(const std::string& folder) {
  if (is_there(path_in(folder, kIdxTrain))) return read_idx_folder(folder);
  if (is_there(path_in(folder, kCifar10Train))) {
    return read_cifar_folder(folder, io::CifarKind::cifar10);
  }
  if (is_there(path_in(folder, kCifar100Train))) {
    return read_cifar_folder(folder, io::CifarKind::cifar100);
  }
  if (is_there(path_in(folder, std::string(kIdxTrain) + ".gz"))) {
    throw Error(ErrorCode::unsupported, folder + ": packed images; got " + kIdxTrain +
                                            ".gz, expected it unpacked (gunzip *.gz)");
  }
  throw Error(ErrorCode::invalid_argument, folder + ": no images that can be read; got none of " +
                                               kIdxTrain + ", " + kCifar10Train + ", " +
                                               kCifar100Train + ", expected one of them");
}

}  // namespace

ImageData read_image_folder(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw Error(ErrorCode::io, folder + ": no folder of images; got " +
                                   (error ? error.message() : "something else"));
  }
  ImageData data = read_known_folder(folder);
  data.name = (fs::path(folder) / "").lexically_normal().parent_path().filename().string();
  return data;
}

}  // namespace hearth::tools
