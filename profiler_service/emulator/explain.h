// How a launch ended, in the contract's words.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_EXPLAIN_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_EXPLAIN_H_

#include <string>
#include <vector>

#include "profiler_service/device/device.h"
#include "profiler_service/emulator/exec/grid.h"
#include "profiler_service/emulator/exec/report.h"

namespace sassay::emulator {

// Groups warps that stand at one instruction in one state; the largest groups first, at most 64.
std::vector<sassay::v1::WarpState> GroupStandings(const std::vector<Standing>& standings, const Locator& locator,
                                                  const std::string& kernel, const sassay::v1::Dim3& grid,
                                                  const sassay::v1::Dim3& block);

// "3 warps waiting at barrier 0, where 96 of 128 threads are, at kernel.cu:12; 1 warp …": at most `most` groups.
std::string DescribeStates(const std::vector<sassay::v1::WarpState>& states, size_t most);

// A finding's message with where it was: "… (kernel.cu:23, block (0,0,0), thread (5,0,0))".
std::string DescribeFinding(const sassay::v1::Finding& finding);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_EXPLAIN_H_
