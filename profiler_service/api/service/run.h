// profiler-service from its command line to its exit status.
#ifndef SASSAY_PROFILER_SERVICE_API_SERVICE_RUN_H_
#define SASSAY_PROFILER_SERVICE_API_SERVICE_RUN_H_

namespace sassay::api {

// Serves until SIGTERM or SIGINT (a second one ends at once), or does what the sub-command says. When the service is
// ready it says so on standard output in one line, "listen=HOST:PORT metrics=HOST:PORT", and writes --port-file; all
// else goes to standard error. Exit status: 0; 1 if it could not start; 2 for usage.
int RunProfilerService(int argc, const char* const* argv);

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_SERVICE_RUN_H_
