// The template headers as part of a candidate. A candidate that says `#include <sassay/ptx/tma.cuh>` gets that file
// among its sources, so that it compiles wherever the agent runs, its bundle holds what was compiled, and its digest
// changes when a header does (decision 0013).
#ifndef SASSAY_AGENT_KNOWLEDGE_PTX_HEADERS_H_
#define SASSAY_AGENT_KNOWLEDGE_PTX_HEADERS_H_

#include <vector>

#include "sassay/v1/bundle.pb.h"

namespace sassay::agent {

// Adds the headers that `sources` name ("sassay/ptx/NAME.cuh", however it is included), and those that these name, and
// keeps the order by path. A file of that path that the candidate brings itself stays as it is: a bundle's sources
// compile to the same bytes again, also under an agent with newer headers.
void AddPtxHeaders(std::vector<sassay::v1::SourceFile>& sources);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_KNOWLEDGE_PTX_HEADERS_H_
