// What a builder's program does: one job in, one outcome out. The service around it knows nothing of compilers.
#ifndef SASSAY_AGENT_BUILD_JOB_H_
#define SASSAY_AGENT_BUILD_JOB_H_

#include <filesystem>
#include <map>
#include <string>

#include "sassay/v1/builder.pb.h"

namespace sassay::agent {

// Builds on this machine what a client asked for. `environment` and `working_directory` say where toolkit and cache
// are, as for any command; what the job says goes before. Everything of the job is foreign: names of files and
// workloads, definitions and settings are checked as if a user had typed them.
v1::BuildJobOutcome RunBuildJob(const v1::BuildJob& untrusted_job,
                                const std::map<std::string, std::string>& environment,
                                const std::filesystem::path& working_directory);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_BUILD_JOB_H_
