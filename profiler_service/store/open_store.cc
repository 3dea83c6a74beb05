#include "profiler_service/store/open_store.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "profiler_service/store/directory_blobs.h"
#include "profiler_service/store/postgres/connection.h"
#include "profiler_service/store/postgres/postgres_blobs.h"
#include "profiler_service/store/postgres/postgres_store.h"
#include "profiler_service/store/sqlite/sqlite_store.h"

namespace sassay::store {
namespace {

bool IsPostgres(const std::string& address) {
  return absl::StartsWith(address, "postgres://") || absl::StartsWith(address, "postgresql://");
}

std::string FileOf(const std::string& address) {
  absl::string_view path = address;
  return absl::ConsumePrefix(&path, "sqlite:") ? std::string(path) : "";
}

std::string SharedFolderOf(const std::string& address) {
  absl::string_view path = address;
  return absl::ConsumePrefix(&path, "postgres+dir:") ? std::string(path) : "";
}

}  // namespace

std::string DescribeStoreAddress(const std::string& address) {
  return IsPostgres(address) ? absl::StrCat("PostgreSQL at ", postgres::DescribeUri(address)) : address;
}

absl::Status CheckStoreAddress(const std::string& address) {
  if (IsPostgres(address)) return postgres::CheckUri(address);
  if (!FileOf(address).empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--store: expected sqlite:FILE or postgres://HOST/DATABASE, got '",
                                                 address.substr(0, address.find("://")),
                                                 "'"));  // what follows may hold a password
}

absl::StatusOr<std::unique_ptr<Store>> OpenStore(const std::string& address, Hears hears) {
  RETURN_IF_ERROR(CheckStoreAddress(address));
  if (!IsPostgres(address)) return OpenSqliteStore(FileOf(address), hears);
  PostgresOptions options;
  options.uri = address;
  options.hears = hears;
  return OpenPostgresStore(options);
}

absl::Status CheckBlobAddress(const std::string& address, const std::string& store_address) {
  if (absl::StartsWith(address, "dir:") && address.size() > 4) return absl::OkStatus();
  if (address != "postgres" && SharedFolderOf(address).empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--blobs: expected dir:PATH, postgres or postgres+dir:PATH, got '", address, "'"));
  }
  if (IsPostgres(store_address)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--blobs postgres: they lie in the database of --store, which is none of PostgreSQL");
}

absl::StatusOr<std::unique_ptr<BlobStore>> OpenBlobs(const std::string& address, const std::string& store_address,
                                                     const BlobLimits& limits) {
  RETURN_IF_ERROR(CheckBlobAddress(address, store_address));
  if (address == "postgres") return OpenPostgresBlobs(store_address, limits);
  if (const std::string folder = SharedFolderOf(address); !folder.empty()) {
    return OpenPostgresBlobs(store_address, limits, /*sessions=*/4, folder);
  }
  return DirectoryBlobs::Open(address.substr(4), limits);
}

absl::StatusOr<std::vector<AuditRecord>> ReadAuditLogOf(const std::string& address, uint64_t after, int limit) {
  RETURN_IF_ERROR(CheckStoreAddress(address));
  return IsPostgres(address) ? ReadPostgresAuditLog(address, after, limit)
                             : ReadAuditLog(FileOf(address), after, limit);
}

}  // namespace sassay::store
