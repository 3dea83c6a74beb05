// Whole blobs as files in a folder that all front ends mount, for --blobs postgres+dir:PATH.
#ifndef SASSAY_PROFILER_SERVICE_STORE_POSTGRES_BLOB_FOLDER_H_
#define SASSAY_PROFILER_SERVICE_STORE_POSTGRES_BLOB_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace sassay::store::postgres {

// Trusts nothing of a shared file system but that a file which was synced and renamed can be read by its name: no
// locks, no links, no times of others. A file gets a name of its own, once; it never changes; the database says which
// names are in use. So whoever is late, with a write or a removal, touches nothing that anybody needs. Thread-safe.
class BlobFolder {
 public:
  // `id`: the folder's, which stands in a file there. It is written if the folder is `fresh`, which has none yet.
  // FAILED_PRECONDITION: another folder's, or none (is it mounted?), or nothing can be written there.
  static absl::StatusOr<std::unique_ptr<BlobFolder>> Open(const std::filesystem::path& path, const std::string& id,
                                                          bool fresh);

  // A file with these bytes, durable; its name. UNAVAILABLE if the disk fails or is full.
  absl::StatusOr<std::string> Keep(absl::string_view bytes) const;
  // At most `limit` bytes from `offset`. DATA_LOSS: there is no such file, in this very folder.
  absl::StatusOr<std::string> Read(const std::string& name, uint64_t offset, uint64_t limit) const;
  // That it is gone already is no error; what cannot be removed now is found by OlderThan.
  void Remove(const std::string& name) const;
  // Names of files that were written before, by their own times.
  std::vector<std::string> OlderThan(absl::Time before) const;

 private:
  BlobFolder(std::filesystem::path path, std::string id) : path_(std::move(path)), id_(std::move(id)) {}
  absl::Status CheckIdentity() const;
  std::filesystem::path PathOf(const std::string& name) const { return path_ / name.substr(0, 2) / name; }

  const std::filesystem::path path_;
  const std::string id_;
};

}  // namespace sassay::store::postgres

#endif  // SASSAY_PROFILER_SERVICE_STORE_POSTGRES_BLOB_FOLDER_H_
