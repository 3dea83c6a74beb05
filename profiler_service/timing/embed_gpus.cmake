# cmake -DOUT=x.cc -DFILE=gpus.json -P embed_gpus.cmake
file(READ ${FILE} text)
file(WRITE ${OUT} "#include \"profiler_service/timing/roofline.h\"

namespace sassay::timing {
absl::string_view GpuPeaksJson() { return R\"gpus(${text})gpus\"; }
}  // namespace sassay::timing
")
