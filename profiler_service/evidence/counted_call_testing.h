// For the tests and the fuzz target of evidence: a small cubin's disassembly and a runner's honest counts of it.
#ifndef SASSAY_PROFILER_SERVICE_EVIDENCE_COUNTED_CALL_TESTING_H_
#define SASSAY_PROFILER_SERVICE_EVIDENCE_COUNTED_CALL_TESTING_H_

#include <cstdlib>
#include <string>

#include "common/sass/disassembly.h"
#include "google/protobuf/text_format.h"
#include "profiler_service/evidence/sass_join.h"

namespace sassay::evidence {

// As nvdisasm prints it; `gemm` multiplies, `copy` does not.
inline constexpr char kCode[] =
    ".text.gemm:\n"
    "\t//## File \"/work/kernel.cu\", line 7\n"
    "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
    "\t//## File \"/work/kernel.cu\", line 9\n"
    "        /*0010*/               @P0 UTMALDG.2D [UR8], [UR4] ;\n"
    "        /*0020*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24, gsb0 ;\n"
    "        /*0030*/                   EXIT ;\n"
    ".text.copy:\n"
    "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
    "        /*0010*/                   EXIT ;\n";

// gemm on 2 blocks of 128 threads, then copy on 3 blocks of 40, then gemm again.
inline constexpr char kPlan[] =
    "steady { launch { kernel: 'gemm' grid { x: 2 y: 1 z: 1 } block { x: 128 y: 1 z: 1 } } }"
    "steady { memset {} }"
    "steady { launch { kernel: 'copy' grid { x: 3 y: 1 z: 1 } block { x: 40 y: 1 z: 1 } } }"
    "steady { launch { kernel: 'gemm' grid { x: 2 y: 1 z: 1 } block { x: 128 y: 1 z: 1 } } }";

// Ten HGMMA a warp; one thread of a block asks for tiles.
inline constexpr char kGemmCounts[] =
    "functions { function: 'gemm' pc_offset_bytes: [0, 16, 32, 48] warp_count: [8, 8, 80, 8]"
    "            thread_count: [256, 2, 2560, 256] }";

inline std::string HonestCounts() {
  return std::string("cubin_crc: 7 ") + "launches { first_launch: 0 launches: 1 kernel: 'gemm' " + kGemmCounts + " }" +
         "launches { first_launch: 1 launches: 1 kernel: 'copy'"
         "  functions { function: 'copy' pc_offset_bytes: [0, 16] warp_count: [6, 6] thread_count: [120, 120] } }" +
         "launches { first_launch: 2 launches: 1 kernel: 'gemm' " + kGemmCounts + " }";
}

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  if (!google::protobuf::TextFormat::ParseFromString(text, &message)) std::abort();
  return message;
}

}  // namespace sassay::evidence

#endif  // SASSAY_PROFILER_SERVICE_EVIDENCE_COUNTED_CALL_TESTING_H_
