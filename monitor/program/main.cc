#include "monitor/program/run.h"

int main(int argc, char** argv) { return sassay::monitor::RunReliabilityMonitor(argc, argv); }
