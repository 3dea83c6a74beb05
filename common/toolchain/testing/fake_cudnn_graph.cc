// A part of testing/fake_cudnn.cc.
#include <cstddef>

extern "C" size_t PartRelease() { return RELEASE; }
