// The candidate's process. Started by the supervisor only.
#include "agent/capture/host/child.h"

int main() { SassayCaptureChildMain(); }
