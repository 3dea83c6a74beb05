#include "agent/cli/app.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "agent/submit/fake_profiler.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "common/bundle/bundle.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
namespace fs = std::filesystem;
using Json = nlohmann::json;

// Runs commands against a service in this process, in a home of its own.
class AppTest : public ::testing::Test {
 protected:
  AppTest() : home_(*TemporaryDirectory::Create("app")) {}

  int Run(const std::vector<std::string>& arguments) {
    out_.str("");
    err_.str("");
    const Terminal terminal = {
        &out_, &err_, false, false, {{"HOME", home_.path()}, {"SASSAY_SERVICE", profiler_.address()}}, home_.path()};
    return RunAgent(arguments, terminal);
  }
  Json Document() const { return Json::parse(out_.str()); }

  std::string WriteBundle(const std::vector<std::string>& workloads) {
    v1::Bundle bundle;
    for (const std::string& workload : workloads) bundle.add_plans()->set_workload(workload);
    bytes_ = *SerializeBundle(bundle);
    const fs::path path = home_.path() / "kernel.bundle";
    EXPECT_TRUE(WriteFileAtomically(path, bytes_).ok());
    return path;
  }

  FakeProfiler profiler_;
  TemporaryDirectory home_;
  std::ostringstream out_, err_;
  std::string bytes_;
};

TEST_F(AppTest, SubmitUploadsAndShowsTheVerdict) {
  EXPECT_EQ(Run({"submit", WriteBundle({"gemm/M=1"})}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("CORRECT"));
  EXPECT_THAT(err_.str(), HasSubstr("accepted   sub-1"));
  EXPECT_EQ(profiler_.blobs[Sha256Hex(bytes_)], bytes_);
}

TEST_F(AppTest, JsonPutsExactlyOneDocumentOnStandardOutput) {
  EXPECT_EQ(Run({"submit", WriteBundle({"gemm/M=1"}), "--json"}), 0);
  EXPECT_EQ(Document()["status"], "CORRECT");
}

TEST_F(AppTest, AnswerThatCannotBeWrittenIsAFailure) {
  struct FullBuffer : std::streambuf {
    int overflow(int) override { return traits_type::eof(); }
  } full;
  std::ostream out(&full);
  const Terminal terminal = {&out, &err_, false, false, {{"HOME", home_.path()}}, home_.path()};
  EXPECT_EQ(RunAgent({"explain", "PTR_CACHED"}, terminal), 3);
  EXPECT_THAT(err_.str(), HasSubstr("standard output cannot be written"));
}

TEST_F(AppTest, KnowledgeShowsWhatAModelSeesAndHowLongItIs) {
  EXPECT_EQ(Run({"knowledge", "--workload", "gemm_n256_k256/M=64"}), 0);
  for (const char* part :
       {"sm_90a", "132 SMs", "wgmma_desc_k", "MBARRIER_DEADLOCK", "torch.matmul", "tokens (estimate)"})
    EXPECT_THAT(out_.str(), HasSubstr(part));
  EXPECT_EQ(Run({"knowledge", "--knowledge", "contract", "--arch", "sm_100a", "--json"}), 0);
  const Json report = Document();
  EXPECT_EQ(report["arch"], "sm_100a");
  ASSERT_THAT(report["parts"], SizeIs(2));
  EXPECT_EQ(report["parts"][1]["name"], "contract");
  EXPECT_EQ(report["parts"][1]["bytes"], report["parts"][1]["text"].get<std::string>().size());
}

TEST_F(AppTest, KnowledgeOfAnUnknownPartIsUsage) {
  EXPECT_EQ(Run({"knowledge", "--knowledge", "templates,contrakt"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("\"contrakt\""));
}

TEST_F(AppTest, ExitStatusTellsWhoIsAtFault) {
  const std::string bundle = WriteBundle({"gemm/M=1"});
  const std::vector<std::pair<v1::VerdictStatus, int>> expected = {
      {v1::VERDICT_STATUS_CORRECT, 0},  {v1::VERDICT_STATUS_COMPILE_ERROR, 1}, {v1::VERDICT_STATUS_REJECTED, 1},
      {v1::VERDICT_STATUS_TIMEOUT, 1},  {v1::VERDICT_STATUS_CHEATING, 1},      {v1::VERDICT_STATUS_INFRA_ERROR, 3},
      {v1::VERDICT_STATUS_CANCELLED, 3}};
  for (const auto& [status, exit_status] : expected) {
    profiler_.script = UsualScript(status);
    EXPECT_EQ(Run({"submit", bundle}), exit_status) << v1::VerdictStatus_Name(status);
  }
}

TEST_F(AppTest, AnExclusionThatIsTheLastWordIsNobodysFault) {
  const std::string bundle = WriteBundle({"gemm/M=1"});
  profiler_.script = UsualScript(v1::VERDICT_STATUS_INCORRECT_NUMERICAL);
  v1::Excluded& excluded = *profiler_.script.emplace_back().mutable_excluded();
  excluded.mutable_exclusion()->set_incident_id("i-1");
  excluded.mutable_exclusion()->set_reason("the GPU throttled");
  EXPECT_EQ(Run({"submit", bundle}), 3);
  EXPECT_THAT(out_.str(), HasSubstr("excluded: the GPU throttled (incident i-1); it counts nowhere"));
  EXPECT_THAT(err_.str(), HasSubstr("excluded (incident i-1: the GPU throttled), too often to run again"));
  EXPECT_EQ(Run({"submit", bundle, "--json"}), 3);
  EXPECT_THAT(out_.str(), HasSubstr("\"excluded\""));
}

TEST_F(AppTest, ATimingIsPrintedAsItWasSettled) {
  const std::string bundle = WriteBundle({"gemm/M=1"});
  profiler_.script = UsualScript(v1::VERDICT_STATUS_CORRECT);
  profiler_.script.back().mutable_verdict()->mutable_timing()->set_status(v1::Timing::PROVISIONAL);
  profiler_.script.emplace_back().mutable_timing_settled()->set_warning("the monitor fell silent");
  EXPECT_EQ(Run({"submit", bundle}), 0);
  EXPECT_THAT(out_.str(), testing::AllOf(HasSubstr("MEASURED"), HasSubstr("the monitor fell silent")));
  EXPECT_EQ(Run({"submit", bundle, "--json"}), 0);
  EXPECT_THAT(out_.str(), testing::AllOf(HasSubstr("MEASURED"), testing::Not(HasSubstr("PROVISIONAL"))));
}

TEST_F(AppTest, BundleWithSeveralPlansNeedsAWorkloadAndSuggestsOne) {
  const std::string bundle = WriteBundle({"gemm/M=1", "gemm/M=2"});
  EXPECT_EQ(Run({"submit", bundle}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--workload is needed: the bundle holds plans for gemm/M=1, gemm/M=2"));
  EXPECT_EQ(Run({"submit", bundle, "--workload", "gemm/M=3"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("Did you mean \"gemm/M=1\"?"));
  EXPECT_EQ(Run({"submit", bundle, "--workload", "gemm/M=2"}), 0);
}

TEST_F(AppTest, WhatIsWrongWithTheWayOutIsSaidBeforeTheWork) {
  EXPECT_EQ(Run({"submit", "nothing.cu", "--workload", "gemm_n256_k256", "--service", "foo:99999"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--service must be HOST:PORT"));
  EXPECT_EQ(Run({"compile", "nothing.cu", "--workload", "gemm_n256_k256", "-o", "/nosuch/x.bundle"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("there is no folder /nosuch"));
  EXPECT_EQ(Run({"compile", "nothing.cu", "--workload", "gemm_n256_k256", "-o", "-", "--json"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("both want standard output"));
}

TEST_F(AppTest, CompileOptionsForABundleAreAnError) {
  const std::string bundle = WriteBundle({"gemm/M=1"});
  EXPECT_EQ(Run({"submit", bundle, "--arch", "sm_100a"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--arch is of no effect"));
  EXPECT_EQ(Run({"submit", bundle, "-D", "FOO"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("-D is of no effect"));
  EXPECT_EQ(profiler_.submissions, 0);
}

TEST_F(AppTest, DefinitionAloneSaysWhichSizeItIsTakenFor) {
  EXPECT_EQ(Run({"compile", "nothing.cu", "--workload", "gemm_n256_k256"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("gemm_n256_k256 names no size; taking gemm_n256_k256/M=256"));
  Run({"compile", "nothing.cu", "--workload", "gemm_n256_k256/M=64"});
  EXPECT_THAT(err_.str(), Not(HasSubstr("taking")));
}

TEST_F(AppTest, MisspelledWorkloadIsNamedAlsoWhereNoServiceAnswers) {
  const std::string dead = FakeProfiler().address();
  EXPECT_EQ(Run({"submit", "nothing.cu", "--workload", "gemm_n256_k265/M=256", "--service", dead}), 2);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("gemm_n256_k256"), HasSubstr("could not read workload")));
}

TEST_F(AppTest, DetachPrintsTheIdAlone) {
  profiler_.hold_until_cancelled = true;
  EXPECT_EQ(Run({"submit", WriteBundle({"gemm/M=1"}), "--detach"}), 0);
  EXPECT_EQ(out_.str(), "sub-1\n");
}

TEST_F(AppTest, AttachShowsTheVerdictOfAnEarlierSubmission) {
  profiler_.script = UsualScript(v1::VERDICT_STATUS_TIMEOUT);
  EXPECT_EQ(Run({"attach", "sub-7", "--json"}), 1);
  EXPECT_EQ(Document()["status"], "TIMEOUT");
  EXPECT_EQ(Run({"attach", "nobody"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("no such submission"));
}

TEST_F(AppTest, CancelSaysWhatItMet) {
  EXPECT_EQ(Run({"cancel", "sub-1"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("is being cancelled"));
  EXPECT_EQ(Run({"cancel", "sub-1"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("already has its verdict"));
}

TEST_F(AppTest, ReplayFindsBundleAndWorkloadOfAVerdictSeenHere) {
  v1::Verdict& verdict = *profiler_.script.back().mutable_verdict();
  verdict.set_replay_id("r-1");
  verdict.set_workload("gemm/M=1");
  verdict.set_bundle_sha256(std::string(64, 'a'));
  ASSERT_EQ(Run({"submit", WriteBundle({"gemm/M=1"})}), 0);
  EXPECT_EQ(Run({"replay", "r-1"}), 0);
  EXPECT_EQ(profiler_.last_request.replay_id(), "r-1");
  EXPECT_EQ(profiler_.last_request.bundle_sha256(), std::string(64, 'a'));
  EXPECT_EQ(profiler_.last_request.workload(), "gemm/M=1");
}

TEST_F(AppTest, ReplayOfAnIdThatIsNoFileNameAsksTheService) {
  EXPECT_EQ(Run({"replay", "../../etc/passwd"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("has no replay id"));
}

TEST_F(AppTest, StagesAndDeadlinesReachTheService) {
  EXPECT_EQ(Run({"submit", WriteBundle({"gemm/M=1"}), "--stages", "evaluate,sanitize", "--run-deadline", "90s"}), 0);
  EXPECT_THAT(profiler_.last_request.stages(), SizeIs(2));
  EXPECT_EQ(profiler_.last_request.run_deadline().seconds(), 90);
  EXPECT_EQ(Run({"submit", WriteBundle({"gemm/M=1"}), "--sanitize", "full", "--diagnose", "ncu,debug"}), 0);
  EXPECT_EQ(profiler_.last_request.sanitize(), v1::SANITIZE_POLICY_FULL);
  EXPECT_EQ(profiler_.last_request.baseline(), v1::BASELINE_CHOICE_UNSPECIFIED);
  EXPECT_THAT(profiler_.last_request.diagnose(), ElementsAre(v1::DIAGNOSIS_NCU, v1::DIAGNOSIS_DEBUG));
  EXPECT_EQ(Run({"submit", WriteBundle({"gemm/M=1"}), "--baseline", "itself"}), 0);
  EXPECT_EQ(profiler_.last_request.baseline(), v1::BASELINE_CHOICE_ITSELF);
  EXPECT_EQ(profiler_.last_request.priority(), v1::PRIORITY_UNSPECIFIED) << "interactive, as older agents are";
  EXPECT_EQ(Run({"submit", WriteBundle({"gemm/M=1"}), "--priority", "batch", "--gpu-model", "NVIDIA H200"}), 0);
  EXPECT_EQ(profiler_.last_request.priority(), v1::PRIORITY_BATCH);
  EXPECT_EQ(profiler_.last_request.gpu_model(), "NVIDIA H200");
  EXPECT_EQ(Run({"submit", WriteBundle({"gemm/M=1"}), "--priority", "urgent"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("interactive"));
  EXPECT_EQ(Run({"submit", WriteBundle({"gemm/M=1"}), "--diagnose", "hotspot"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("hotspots"));
  EXPECT_EQ(Run({"submit", WriteBundle({"gemm/M=1"}), "--stages", "evalute"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("Did you mean \"evaluate\"?"));
}

TEST_F(AppTest, UsageErrorsTeach) {
  EXPECT_EQ(Run({"submti"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("unknown command \"submti\". Did you mean \"submit\"?"));
  EXPECT_EQ(Run({"submit", "--wrkload", "x", "k.cu"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("unknown option --wrkload. Did you mean \"--workload\"?"));
  EXPECT_EQ(Run({"attach"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("ID is required. See `mini-ptx-agent attach --help`"));
  EXPECT_EQ(Run({"explain", "MISMATCHH"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("Did you mean \"MISMATCH\"?"));
  EXPECT_EQ(Run({}), 2);
}

TEST_F(AppTest, WhatAFlagMustBeIsSaidInOneWayByEveryCommand) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"run", "--context", "ful"}, "--context must be one of full, latest, best, not \"ful\". Did you mean \"full\"?"},
      {{"run", "--turns", "two"}, "--turns must be a whole number that is not negative, not \"two\"."},
      {{"run", "--retry-deadline", "5"}, "--retry-deadline must be a duration such as 90s, 5m or 1h30m, not \"5\"."},
      {{"knowledge", "--knowledge", "parms"}, "or none, not \"parms\". Did you mean \"params\"?"},
      {{"report", "x", "--format", "htm"},
       "--format must be one of table, csv, html, not \"htm\". Did you mean \"html\"?"},
      {{"export", "x", "-o", "y", "--format", "flashinfer"}, "--format must be one of mini-swe, flashinfer-trace, not"},
      {{"dataset", "fixt", "x", "-o", "y"},
       "KIND must be one of fixit, kernelgen, not \"fixt\". Did you mean \"fixit\"?"},
      {{"dataset", "fixit", "x", "-o", "y", "--balance", "mid"},
       "--balance must be one of after, before, not \"mid\"."},
      {{"dataset", "fixit", "x", "-o", "y", "--cap", "-1"},
       "--cap must be a whole number that is not negative, not \"-1\"."},
      {{"dataset", "fixit", "x", "-o", "y", "--min-speedup", "x"},
       "--min-speedup must be a number that is not negative"}};
  for (const auto& [arguments, message] : wrong) {
    EXPECT_EQ(Run(arguments), 2) << message;
    EXPECT_THAT(err_.str(), HasSubstr(message));
  }
}

TEST_F(AppTest, DatasetRefusesWhatCannotBeBeforeItReads) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"--strata", "cod"}, "--strata: \"cod\" is no stratum. Did you mean \"code\"?"},
      {{"--hold-out", "("}, "--hold-out must be an extended regular expression, not \"(\""},
      {{"--errors", "NVC_ERROR"}, "--errors: \"NVC_ERROR\" is no verdict status or code. Did you mean \"NVCC_ERROR\"?"},
      {{"--turns", "3-1"}, "--turns 3-1 holds no turn"},
      {{"-o", "/nosuch/x.jsonl"}, "--output /nosuch/x.jsonl: there is no folder /nosuch."}};
  for (const auto& [flags, message] : wrong) {
    std::vector<std::string> arguments = {"dataset", "fixit", "nothing"};
    if (flags[0] != "-o") arguments.insert(arguments.end(), {"-o", home_.path() / "x.jsonl"});
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    EXPECT_EQ(Run(arguments), 2) << message;
    EXPECT_THAT(err_.str(), HasSubstr(message));
  }
  EXPECT_EQ(Run({"dataset", "kernelgen", "nothing", "-o", home_.path() / "x.jsonl", "--teacher", "m"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--teacher is of no effect on kernelgen"));
}

TEST_F(AppTest, ReportSaysBeforeItReadsThatItCannotWrite) {
  EXPECT_EQ(Run({"report", "nothing", "-o", "/nosuch/x.html"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--output /nosuch/x.html: there is no folder /nosuch."));
  EXPECT_EQ(Run({"report", "nothing"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("there is no nothing. Name a folder that `mini-ptx-agent run -o` wrote"));
}

// A mistake must not look like trouble of the infrastructure, which scripts try again.
TEST_F(AppTest, RunSaysWhatIsWrongWithItsFlagsBeforeItAsksTheService) {
  const std::string gone = FakeProfiler().address();
  const std::vector<std::string> run = {"run", "--workload", "gemm_n256_k256/M=64", "--model", "command:true",
                                        "-o",  "run",        "--service",           gone};
  EXPECT_EQ(Run(run), 3);
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"--stages", "evalute"}, "Did you mean \"evaluate\"?"},
      {{"--notes", "nosuchnotes"}, "nosuchnotes"},
      {{"--prompt", "nosuchprompt"}, "--prompt cannot be used: "},
      {{"--language", "triton", "--triton-venv", "/nosuch"},
       "Triton is not installed in /nosuch; bash deploy/install_triton.sh"},
      {{"--device", "H300"}, "--device: no GPU model is called \"H300\""}};
  for (const auto& [flags, message] : wrong) {
    std::vector<std::string> arguments = run;
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    EXPECT_EQ(Run(arguments), 2) << message;
    EXPECT_THAT(err_.str(), HasSubstr(message));
  }
}

TEST_F(AppTest, FailureWithJsonIsOneDocumentToo) {
  EXPECT_EQ(Run({"attach", "nobody", "--json"}), 2);
  EXPECT_EQ(Document()["error"], "NOT_FOUND");
  EXPECT_EQ(Document()["exit_status"], 2);
  EXPECT_EQ(Run({"attach", "--json", "--colour"}), 2);
  EXPECT_EQ(Document()["error"], "INVALID_ARGUMENT");
}

TEST_F(AppTest, UnreachableServiceIsInfrastructure) {
  const std::string gone = FakeProfiler().address();
  EXPECT_EQ(Run({"cancel", "x", "--service", gone}), 3);
  EXPECT_THAT(err_.str(), HasSubstr("Is it running"));
}

TEST_F(AppTest, EveryCommandHasHelpWithAnExampleAndKnowsTheService) {
  for (const char* command :
       {"compile", "submit", "inspect", "attach", "cancel", "replay", "workloads", "explain", "doctor"}) {
    EXPECT_EQ(Run({command, "--help"}), 0) << command;
    EXPECT_THAT(out_.str(), AllOf(HasSubstr("Example"), HasSubstr("--service"), HasSubstr("--token-file"),
                                  HasSubstr("--ca-file"), HasSubstr("--json")))
        << command;
    EXPECT_THAT(err_.str(), IsEmpty()) << command;
  }
  EXPECT_EQ(Run({"config", "show", "--help"}), 0);
  EXPECT_EQ(Run({"--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("Exit status"));
}

TEST_F(AppTest, VersionIsPrinted) {
  EXPECT_EQ(Run({"--version"}), 0);
  EXPECT_EQ(out_.str(), "mini-ptx-agent " SASSAY_VERSION "\n");
}

TEST_F(AppTest, ConfigShowNamesOriginsAndUnknownKeysAreErrors) {
  EXPECT_EQ(Run({"config", "show", "--json"}), 0);
  bool seen = false;
  const Json document = Document();
  for (const Json& value : document["values"])
    seen = seen || (value["key"] == "service" && value["origin"] == "environment SASSAY_SERVICE");
  EXPECT_TRUE(seen);
  ASSERT_TRUE(WriteFileAtomically(home_.path() / ".sassay.json", R"({"servcie": "x:1"})").ok());
  EXPECT_EQ(Run({"config", "show"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("Did you mean \"service\"?"));
}

TEST_F(AppTest, WorkloadsComeFromHereOrFromTheNamedService) {
  EXPECT_EQ(Run({"workloads"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("gemm_n256_k256/M=256"));
  EXPECT_EQ(Run({"workloads", "--service", profiler_.address()}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("fake_gemm/M=16"));
  EXPECT_EQ(Run({"workloads", "gemm_n256_k256/M=256"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("extern \"C\" void run(const __nv_bfloat16* A"));
  EXPECT_EQ(Run({"workloads", "gemm_n256_k265/M=256"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("gemm_n256_k256"));
}

TEST_F(AppTest, InspectRefusesWhatIsNoBundle) {
  EXPECT_EQ(Run({"inspect", WriteBundle({"gemm/M=1"})}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("Plan gemm/M=1"));
  ASSERT_TRUE(WriteFileAtomically(home_.path() / "x.bundle", "no bundle").ok());
  EXPECT_EQ(Run({"inspect", home_.path() / "x.bundle"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("is not a bundle that can be read"));
}

TEST_F(AppTest, DoctorReportsEveryCheckAndTheService) {
  const int exit_status = Run({"doctor", "--json"});
  std::map<std::string, std::string> states;
  const Json document = Document();
  for (const Json& check : document["checks"]) states[check["name"]] = check.value("state", "");
  for (const char* name : {"toolkit", "sandbox", "gpu", "workloads"}) EXPECT_EQ(states.count(name), 1u) << name;
  EXPECT_EQ(states["service"], "OK");
  // The programs of capture travel inside; whether all works depends on this machine's toolkit, and the status says it.
  EXPECT_EQ(states["capture"], "OK");
  ASSERT_TRUE(document.contains("works"));
  EXPECT_EQ(exit_status, document.value("works", false) ? 0 : 3);
}

}  // namespace
}  // namespace sassay::agent
