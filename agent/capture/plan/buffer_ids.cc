#include "agent/capture/plan/buffer_ids.h"

namespace sassay::capture {
namespace {

namespace v1 = sassay::v1;
using Renumber = std::function<uint32_t(uint32_t)>;

void Apply(v1::BufferPointer* pointer, const Renumber& renumber) { pointer->set_buffer(renumber(pointer->buffer())); }
void Apply(v1::Lifetime* lifetime, const Renumber& renumber) { lifetime->set_buffer(renumber(lifetime->buffer())); }

void Apply(v1::RelocatableBytes* bytes, const Renumber& renumber, const Renumber& renumber_map) {
  for (v1::Relocation& relocation : *bytes->mutable_relocations()) {
    if (relocation.has_pointer()) Apply(relocation.mutable_pointer(), renumber);
    if (relocation.target_case() == v1::Relocation::kTensorMap)
      relocation.set_tensor_map(renumber_map(relocation.tensor_map()));
  }
}

}  // namespace

void RenumberBuffers(v1::Step* step, const Renumber& renumber, const Renumber& renumber_map) {
  switch (step->action_case()) {
    case v1::Step::kLaunch:
      for (auto& argument : *step->mutable_launch()->mutable_arguments()) Apply(&argument, renumber, renumber_map);
      return;
    case v1::Step::kUpload:
      Apply(step->mutable_upload()->mutable_destination(), renumber);
      Apply(step->mutable_upload()->mutable_bytes(), renumber, renumber_map);
      return;
    case v1::Step::kCopy:
      Apply(step->mutable_copy()->mutable_destination(), renumber);
      Apply(step->mutable_copy()->mutable_source(), renumber);
      return;
    case v1::Step::kMemset:
      Apply(step->mutable_memset()->mutable_destination(), renumber);
      return;
    case v1::Step::kAllocate:
      Apply(step->mutable_allocate(), renumber);
      return;
    case v1::Step::kFree:
      Apply(step->mutable_free(), renumber);
      return;
    case v1::Step::ACTION_NOT_SET:
      return;
  }
}

}  // namespace sassay::capture
