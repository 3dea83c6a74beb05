#include "agent/cli/app.h"

int main(int argc, char** argv) { return sassay::agent::AgentMain(argc, argv); }
