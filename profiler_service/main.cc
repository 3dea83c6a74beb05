#include "profiler_service/api/service/run.h"

int main(int argc, char** argv) { return sassay::api::RunProfilerService(argc, argv); }
