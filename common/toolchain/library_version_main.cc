// Tells the version of one of NVIDIA's libraries, in a process that ends with it (library_versions.h).
#include "common/toolchain/library_versions.h"

int main(int argc, char** argv) { return sassay::RunVendorLibraryVersion(argc, argv); }
