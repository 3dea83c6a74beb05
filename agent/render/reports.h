// The commands' smaller reports for people.
#ifndef SASSAY_AGENT_RENDER_REPORTS_H_
#define SASSAY_AGENT_RENDER_REPORTS_H_

#include <string>

#include "common/terminal/style.h"
#include "google/protobuf/repeated_field.h"
#include "sassay/v1/agent.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::agent {

// What `compile` made.
std::string RenderCompileResult(const v1::CompileResult& result, const Style& style);
// What `config show` prints.
std::string RenderConfiguration(const v1::Configuration& configuration, const Style& style);
// What `doctor` found.
std::string RenderDoctorReport(const v1::DoctorReport& report, const Style& style);
// One code.
std::string RenderExplanation(const v1::CodeExplanation& explanation, const Style& style);
// Every code, one line each.
std::string RenderExplanations(const v1::CodeExplanations& explanations, const Style& style);
// One workload with shapes and the signature of run().
std::string RenderWorkload(const v1::Workload& workload, const Style& style);
// Names and descriptions.
std::string RenderWorkloads(const google::protobuf::RepeatedPtrField<v1::Workload>& workloads, const Style& style);

// C declaration of the entry point for a workload, one line.
std::string EntrySignature(const v1::Workload& workload);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_RENDER_REPORTS_H_
