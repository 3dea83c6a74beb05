#include "agent/submit/exclusion_stream.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>

#include "absl/strings/str_cat.h"
#include "agent/submit/connection.h"
#include "sassay/v1/profiler.grpc.pb.h"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;

// Fails as it is told, then tells of one exclusion.
class Watched final : public v1::Profiler::Service {
 public:
  Watched() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Watched() override { server_->Shutdown(std::chrono::system_clock::now()); }

  grpc::Status WatchExclusions(grpc::ServerContext*, const v1::WatchExclusionsRequest*,
                               grpc::ServerWriter<v1::Event>* writer) override {
    ++calls;
    if (calls <= failures) return grpc::Status(code, "away");
    v1::Event event;
    event.mutable_excluded()->mutable_exclusion()->set_incident_id("i-1");
    writer->Write(event);
    return grpc::Status::OK;
  }

  std::atomic<int> calls = 0;
  int failures = 0;
  grpc::StatusCode code = grpc::UNAVAILABLE;
  int port() const { return port_; }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class ExclusionStreamTest : public ::testing::Test {
 protected:
  // Until an exclusion was told of.
  void Watch(const RetryPolicy& policy) {
    ConnectionOptions options;
    options.service = absl::StrCat("127.0.0.1:", service_.port());
    const auto connection = Connection::Open(options);
    ASSERT_TRUE(connection.ok()) << connection.status();
    Stopper stopper;
    WatchExclusions(
        **connection, absl::UnixEpoch(), policy, stopper,
        [&](const v1::Event& event) {
          seen_ = event.excluded().exclusion().incident_id();
          stopper.Stop();
        },
        [&](absl::string_view note) { note_ = std::string(note); });
  }

  Watched service_;
  std::string seen_;
  std::string note_;
};

TEST_F(ExclusionStreamTest, AServiceThatIsAwayForLongIsHeardWhenItIsBack) {
  service_.failures = 3;
  RetryPolicy policy;
  policy.first_wait = policy.longest_wait = absl::Milliseconds(1);
  policy.give_up_after = absl::ZeroDuration();  // of a submission
  Watch(policy);
  EXPECT_EQ(seen_, "i-1");
  EXPECT_EQ(note_, "");
  EXPECT_EQ(service_.calls, 4);
}

TEST_F(ExclusionStreamTest, AServiceThatIsTooOldIsNotAskedAgain) {
  service_.failures = 100;
  service_.code = grpc::UNIMPLEMENTED;
  Watch({});
  EXPECT_THAT(note_, HasSubstr("late exclusions are not heard of any more"));
  EXPECT_EQ(service_.calls, 1);
}

}  // namespace
}  // namespace sassay::agent
