// Every kernel of the judge, as one module: a context of ours loads it once.
#include "profiler_service/judge/gpu/kernels/attention.cuh"
#include "profiler_service/judge/gpu/kernels/canary.cuh"
#include "profiler_service/judge/gpu/kernels/compare.cuh"
#include "profiler_service/judge/gpu/kernels/memory.cuh"
#include "profiler_service/judge/gpu/kernels/product.cuh"
