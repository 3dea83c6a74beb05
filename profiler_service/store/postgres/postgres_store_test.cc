#include "profiler_service/store/postgres/postgres_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/status_macros.h"
#include "profiler_service/store/testing/postgres_server.h"
#include "profiler_service/store/testing/store_conformance.h"

namespace sassay::store {
namespace {

class PostgresBed : public StoreBed {
 public:
  std::unique_ptr<Store> Open() override {
    auto store = TryToOpen();
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }

 private:
  absl::StatusOr<std::unique_ptr<Store>> TryToOpen() {
    ASSIGN_OR_RETURN(PostgresServer * server, PostgresServer::OfThisProgram());
    if (uri_.empty()) {
      ASSIGN_OR_RETURN(uri_, server->EmptiedDatabase());
    }
    PostgresOptions options;
    options.uri = uri_;
    options.readers = 1;
    return OpenPostgresStore(options);
  }
  std::string uri_;
};

INSTANTIATE_TEST_SUITE_P(Postgres, StoreConformance,
                         testing::Values(std::make_pair(std::string("Postgres"), StoreBedFactory([] {
                                                          return std::make_unique<PostgresBed>();
                                                        }))));

}  // namespace
}  // namespace sassay::store
