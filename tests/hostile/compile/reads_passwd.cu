// expect: COMPILE_ERROR NVCC_ERROR workload=gemm_n256_k256/M=64
// Tries to pull a file of the machine into the compiler's messages.
#include "/etc/passwd"
extern "C" void run() {}
