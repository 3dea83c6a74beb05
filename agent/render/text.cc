#include "agent/render/text.h"

#include "fmt/format.h"

namespace sassay::agent {

std::string Dim3Text(const v1::Dim3& dim) { return fmt::format("({}, {}, {})", dim.x(), dim.y(), dim.z()); }

}  // namespace sassay::agent
