#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "monitor/admin/app.h"
#include "monitor/admin/tables.h"
#include "monitor/testing/fake_control.h"
#include "nlohmann/json.hpp"

namespace sassay::monitor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Said {
  int status;
  std::string out, err;
};

class AdminTest : public testing::Test {
 protected:
  AdminTest() {
    for (const char* uuid : {"GPU-aaa1", "GPU-aaa2", "GPU-bbb1"}) {
      v1::Gpu& gpu = *control_.gpus.add_gpus();
      gpu.set_uuid(uuid);
      gpu.set_model("NVIDIA H200");
      gpu.set_state(v1::GPU_STATE_HEALTHY);
    }
  }
  Said Run(std::vector<std::string> arguments) {
    std::ostringstream out, err;
    arguments.insert(arguments.begin(), {"--service", control_.address()});
    const int status = RunAdmin(arguments, {&out, &err, false});
    return {status, out.str(), err.str()};
  }

  FakeControl control_;
};

TEST_F(AdminTest, ListsGpusWithWhoHoldsThem) {
  v1::Hold& hold = *control_.gpus.mutable_gpus(0)->add_holds();
  hold.set_holder("monitor");
  hold.set_state(v1::GPU_STATE_COOLING);
  hold.set_reason("too hot\x1b[2J");
  control_.gpus.mutable_gpus(0)->set_state(v1::GPU_STATE_COOLING);
  const Said said = Run({"gpus"});
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_THAT(said.out, AllOf(HasSubstr("GPU-aaa1"), HasSubstr("monitor cooling for"), HasSubstr("too hot")));
  EXPECT_THAT(said.out, Not(HasSubstr("\x1b")));
}

TEST_F(AdminTest, AnswersOneJsonDocument) {
  const auto json = nlohmann::json::parse(Run({"gpus", "--json"}).out);
  EXPECT_EQ(json["gpus"].size(), 3u);
  EXPECT_EQ(json["gpus"][0]["state"], "HEALTHY");
}

TEST_F(AdminTest, DrainsAndResumesAsOperator) {
  EXPECT_EQ(Run({"drain", "bbb", "--reason", "new fan"}).status, 0);
  EXPECT_THAT(control_.calls(), testing::ElementsAre("PauseDispatch GPU-bbb1 operator PAUSED new fan"));
  EXPECT_EQ(Run({"undrain", "GPU-bbb1"}).status, 0);
  EXPECT_EQ(Run({"drain", "--all"}).status, 0);
  EXPECT_THAT(control_.calls().back(), HasSubstr("PauseDispatch  operator"));
}

TEST_F(AdminTest, DrainsAWholeNodeAndSaysWhichGpusThatIs) {
  EXPECT_THAT(Run({"gpus"}).out, Not(HasSubstr("NODE")));
  for (const int gpu : {0, 2}) control_.gpus.mutable_gpus(gpu)->set_node("pool/a");
  EXPECT_THAT(Run({"gpus"}).out, AllOf(HasSubstr("NODE"), HasSubstr("pool/a"), HasSubstr("here")));
  const Said said = Run({"drain", "--node", "pool/a", "--reason", "new fan"});
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_THAT(said.out, AllOf(HasSubstr("GPU-aaa1 takes no new work"), HasSubstr("GPU-bbb1 takes no new work")));
  EXPECT_THAT(control_.calls(), testing::ElementsAre("PauseDispatch GPU-aaa1 operator PAUSED new fan",
                                                     "PauseDispatch GPU-bbb1 operator PAUSED new fan"));
  EXPECT_EQ(Run({"undrain", "--node", "pool/a"}).status, 0);
  EXPECT_EQ(control_.calls().size(), 4u);
  const Said unknown = Run({"drain", "--node", "pool/z"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("no node \"pool/z\" lives"), HasSubstr("pool/a")));
  EXPECT_EQ(Run({"drain", "--node", "pool/a", "--all"}).status, 2);
}

TEST_F(AdminTest, NameThatFitsNoGpuOrSeveralIsRefusedWithThoseThereAre) {
  const Said none = Run({"drain", "GPU-zzz"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, AllOf(HasSubstr("no GPU \"GPU-zzz\""), HasSubstr("GPU-bbb1")));
  EXPECT_EQ(Run({"drain", "aaa"}).status, 2);
  EXPECT_TRUE(control_.calls().empty());
}

TEST_F(AdminTest, MistypedCommandsGetASuggestion) {
  const Said said = Run({"incidnets"});
  EXPECT_EQ(said.status, 2);
  EXPECT_THAT(said.err, HasSubstr("unknown command \"incidnets\". Did you mean \"incidents\"?"));
  const Said flag = Run({"incidents", "--sicne", "1h", "--json"});
  EXPECT_EQ(flag.status, 2);
  EXPECT_THAT(flag.err, HasSubstr("Did you mean \"--since\"?"));
  EXPECT_EQ(nlohmann::json::parse(flag.out)["error"]["code"], "INVALID_ARGUMENT");
}

TEST_F(AdminTest, GpuOrAllMustBeSaid) {
  EXPECT_EQ(Run({"drain"}).status, 2);
  EXPECT_EQ(Run({"drain", "bbb", "--all"}).status, 2);
  EXPECT_EQ(Run({"quarantine", "bbb"}).status, 2) << "a quarantine wants a reason";
}

TEST_F(AdminTest, ReleaseSaysWhetherTheMonitorWasAsked) {
  control_.released = false;
  EXPECT_THAT(Run({"release", "bbb"}).out, HasSubstr("as soon as a canary is clean"));
  control_.released = true;
  EXPECT_THAT(Run({"release", "bbb", "--force"}).out, HasSubstr("takes work again"));
  EXPECT_EQ(control_.calls().back(), "ReleaseGpu GPU-bbb1 force");
}

TEST_F(AdminTest, ShowsNewestRevisionOfEachIncidentThatIsKept) {
  for (uint32_t revision : {1, 2}) {
    v1::Incident incident;
    incident.set_id("i-1");
    incident.set_uuid("GPU-aaa1");
    incident.set_rule("thermal_slowdown");
    incident.set_revision(revision);
    incident.set_reason(absl::StrCat("revision ", revision));
    SetTimestamp(absl::FromUnixSeconds(1'700'000'000), *incident.mutable_from());
    if (revision == 2) SetTimestamp(absl::FromUnixSeconds(1'700'000'060), *incident.mutable_to());
    control_.incidents.push_back(incident);
  }
  const Said said = Run({"incidents", "--since", "1h"});
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_THAT(said.out, AllOf(HasSubstr("thermal_slowdown"), HasSubstr("revision 2"), Not(HasSubstr("revision 1")),
                              HasSubstr("until 2023-11-14 22:14:20")));
  EXPECT_EQ(nlohmann::json::parse(Run({"incidents", "--json"}).out)["incidents"].size(), 1u);
}

TEST_F(AdminTest, CanaryThatCannotBeRunIsStatusOne) {
  control_.canary_status = grpc::Status(grpc::FAILED_PRECONDITION, "an emulated device has no times");
  const Said said = Run({"canary", "bbb"});
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.err, HasSubstr("emulated device has no times"));
}

TEST_F(AdminTest, UsageAddsUpToTheSum) {
  for (const char* name : {"ann", "ben"}) {
    v1::TenantUsage& tenant = *control_.usage.add_tenants();
    tenant.set_tenant(name);
    tenant.set_verdicts(3);
    tenant.set_gpu_ns(1'250'000'000);
  }
  EXPECT_THAT(Run({"usage"}).out, AllOf(HasSubstr("ann"), HasSubstr("1.2"), HasSubstr("all"), HasSubstr("2.5")));
  control_.usage.mutable_tenants(0)->set_weight(12);
  EXPECT_THAT(Run({"tenants"}).out, AllOf(HasSubstr("WAITING"), HasSubstr("WEIGHT"), HasSubstr("12")));
}

TEST_F(AdminTest, AWeightIsSetByName) {
  EXPECT_THAT(Run({"tenant", "ann", "--weight", "3"}).out, HasSubstr("ann has weight 3"));
  EXPECT_EQ(control_.tenant_set.tenant(), "ann");
  EXPECT_EQ(control_.tenant_set.weight(), 3u);
  EXPECT_EQ(Run({"tenant", "ann"}).status, 2);
}

TEST_F(AdminTest, RefusalNamesTheRemedy) {
  control_.refusal = grpc::Status(grpc::PERMISSION_DENIED, "Control is for admins");
  const Said said = Run({"audit"});
  EXPECT_EQ(said.status, 2);
  EXPECT_THAT(said.err, HasSubstr("token add NAME --role admin"));
}

TEST(Admin, ServiceThatIsNotThereIsStatusThree) {
  std::ostringstream out, err;
  EXPECT_EQ(RunAdmin({"gpus", "--json", "--service", "127.0.0.1:1"}, {&out, &err, false}), 3);
  EXPECT_EQ(nlohmann::json::parse(out.str())["error"]["code"], "UNAVAILABLE");
  EXPECT_THAT(err.str(), HasSubstr("Is profiler-service running"));
}

TEST(Admin, UnknownCommandIsUsage) {
  std::ostringstream out, err;
  EXPECT_EQ(RunAdmin({"frobnicate"}, {&out, &err, false}), 2);
  EXPECT_EQ(RunAdmin({"--help"}, {&out, &err, false}), 0);
  EXPECT_THAT(out.str(), HasSubstr("Examples:"));
}

TEST(Age, IsReadable) {
  EXPECT_EQ(AgeText(absl::Seconds(3)), "3 s");
  EXPECT_EQ(AgeText(absl::Minutes(12)), "12 min");
  EXPECT_EQ(AgeText(absl::Minutes(125)), "2 h 5 min");
}

// A server that answers grpc.health.v1, and UNIMPLEMENTED to everything else.
class HealthyServer {
 public:
  HealthyServer() {
    grpc::EnableDefaultHealthCheckService(true);
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&control_);
    server_ = builder.BuildAndStart();
    grpc::EnableDefaultHealthCheckService(false);
    address_ = absl::StrCat("127.0.0.1:", port);
  }
  void SetServing(bool serving) { server_->GetHealthCheckService()->SetServingStatus(serving); }
  Said Ask(std::vector<std::string> more) const {
    std::ostringstream out, err;
    std::vector<std::string> arguments = {"health", "--service", address_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const int status = RunAdmin(arguments, {&out, &err, false});
    return {status, out.str(), err.str()};
  }

 private:
  v1::Control::Service control_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

TEST(AdminHealthTest, SaysWhetherTheServiceServes) {
  HealthyServer server;
  server.SetServing(true);
  EXPECT_EQ(server.Ask({}).status, 0) << server.Ask({}).err;
  EXPECT_EQ(nlohmann::json::parse(server.Ask({"--json"}).out)["status"], "SERVING");
  server.SetServing(false);
  EXPECT_EQ(server.Ask({}).status, 3);
  EXPECT_THAT(server.Ask({}).err, HasSubstr("does not serve"));
}

TEST_F(AdminTest, HealthOfAServerWithoutThatServiceIsNoSuccess) { EXPECT_EQ(Run({"health"}).status, 1); }

TEST(AdminHealthTest, HealthOfNobodyIsNoSuccess) {
  std::ostringstream out, err;
  EXPECT_EQ(RunAdmin({"health", "--service", "unix:/nowhere"}, {&out, &err, false}), 3);
}

}  // namespace
}  // namespace sassay::monitor
