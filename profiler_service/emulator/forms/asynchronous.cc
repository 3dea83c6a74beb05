#include "profiler_service/emulator/forms/forms.h"

namespace sassay::emulator {
namespace {

Family Barriers() {
  return {"mbarriers",
          FamilyKind::kOther,
          "sm_90a",
          {
              {"mbarrier.init{.shared,.shared::cta,}.b64", "[i64], i32"},
              {"mbarrier.inval{.shared,}.b64", "[i64]"},
              {"mbarrier.arrive{,.release.cta,.relaxed.cta}{.shared,.shared::cta,}.b64", "=i64, [i64]"},
              {"mbarrier.arrive{,.release.cta}.shared.b64", "=i64, [i64], i32"},
              {"mbarrier.arrive{,.release.cluster}.shared::cluster.b64", "_, [i32], i32"},
              {"mbarrier.arrive.noComplete.shared.b64", "=i64, [i64], i32"},
              {"mbarrier.arrive.expect_tx{,.release.cta}.shared.b64", "=i64, [i64], i32"},
              {"mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64", "_, [i32], i32"},
              {"mbarrier.arrive_drop.shared.b64", "=i64, [i64]"},
              {"mbarrier.arrive_drop.expect_tx.shared.b64", "=i64, [i64], i32"},
              {"mbarrier.expect_tx.relaxed{.cta,.cluster}.shared::cta.b64", "[i64], i32"},
              {"mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64", "[i32], i32"},
              {"mbarrier{.test_wait,.try_wait}{,.acquire.cta,.acquire.cluster}.shared.b64", "=p, [i64], i64"},
              {"mbarrier{.test_wait,.try_wait}.parity{,.acquire.cta,.acquire.cluster}.shared.b64", "=p, [i64], i32"},
              {"mbarrier.try_wait.parity.shared.b64", "=p, [i64], i32, i32"},
              {"mbarrier.pending_count.b64", "=i32, i64"},
              {"cp.async.mbarrier.arrive{,.noinc}.shared.b64", "[i64]"},
          }};
}

Family Copies() {
  return {"Asynchronous copies",
          FamilyKind::kOther,
          "sm_90a",
          {
              {"cp.async.ca.shared.global{,.L2::128B}", "[i32], [i64], 4"},
              {"cp.async{.ca,.cg}.shared.global", "[i32], [i64], 16"},
              {"cp.async.cg.shared.global", "[i32], [i64], 16, i32"},
              {"cp.async.cg.shared.global", "[i32], [i64], 16, p"},
              {"cp.async.cg.shared.global.L2::cache_hint", "[i32], [i64], 16, i64"},
              {"cp.async{.commit_group,.wait_all}", ""},
              {"cp.async.wait_group", "1"},
              {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", "[i32], [i64], i32, [i32]"},
              {"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes", "[i32], [i64], i32, [i32]"},
              {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster",
               "[i32], [i64], i32, [i32], i16"},
              {"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes", "[i32], [i32], i32, [i32]"},
              {"cp.async.bulk.global.shared::cta.bulk_group", "[i64], [i32], i32"},
              {"cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint", "[i64], [i32], i32, i64"},
              {"cp.async.bulk.prefetch.L2.global", "[i64], i32"},
              {"cp.async.bulk.commit_group", ""},
              {"cp.async.bulk.wait_group{,.read}", "0"},
              {"cp.reduce.async.bulk.global.shared::cta.bulk_group{.add,.min,.max,.inc,.dec}.u32", "[i64], [i32], i32"},
              {"cp.reduce.async.bulk.global.shared::cta.bulk_group{.add.u64,.add.f32,.add.f64,.add.noftz.f16,.add."
               "noftz.bf16}",
               "[i64], [i32], i32"},
              {"cp.reduce.async.bulk.global.shared::cta.bulk_group{.min.f16,.max.bf16}", "[i64], [i32], i32"},
              {"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32",
               "[i32], [i32], i32, [i32]"},
          }};
}

Family Tensors() {
  return {
      "Copies of tensors (TMA)",
      FamilyKind::kOther,
      "sm_90a",
      {
          {"cp.async.bulk.tensor.1d{.shared::cluster,.shared::cta}.global.tile.mbarrier::complete_tx::bytes",
           "[i32], [i64, {i32}], [i32]"},
          {"cp.async.bulk.tensor.2d.shared::cluster.global{,.tile}.mbarrier::complete_tx::bytes",
           "[i32], [i64, {i32, i32}], [i32]"},
          {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster",
           "[i32], [i64, {i32, i32}], [i32], i16"},
          {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint",
           "[i32], [i64, {i32, i32}], [i32], i64"},
          {"cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes",
           "[i32], [i64, {i32, i32, i32}], [i32]"},
          {"cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes",
           "[i32], [i64, {i32, i32, i32, i32}], [i32]"},
          {"cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes",
           "[i32], [i64, {i32, i32, i32, i32, i32}], [i32]"},
          {"cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes",
           "[i32], [i64, {i32, i32, i32}], [i32], {i16}"},
          {"cp.async.bulk.tensor.2d.global.shared::cta{,.tile}.bulk_group", "[i64, {i32, i32}], [i32]"},
          {"cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group", "[i64, {i32, i32, i32, i32, i32}], [i32]"},
          {"cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group", "[i64, {i32, i32, i32}], [i32]"},
          {"cp.reduce.async.bulk.tensor.2d.global.shared::cta{.add,.min,.max,.and,.or,.xor,.inc,.dec}.tile.bulk_group",
           "[i64, {i32, i32}], [i32]"},
          {"cp.async.bulk.prefetch.tensor.2d.L2.global.tile", "[i64, {i32, i32}]"},
          {"tensormap.replace.tile.global_address{.global,.shared::cta}.b1024.b64", "[i64], i64"},
          {"tensormap.replace.tile.global_dim{.global,.shared::cta}.b1024.b32", "[i64], 1, i32"},
          {"tensormap.replace.tile.global_stride{.global,.shared::cta}.b1024.b64", "[i64], 0, i64"},
          {"tensormap.replace.tile{.rank,.box_dim,.element_stride}.global.b1024.b32", "[i64], i32"},
          {"tensormap.replace.tile{.elemtype,.interleave_layout,.swizzle_mode,.fill_mode}.global.b1024.b32",
           "[i64], 0"},
          {"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release{.cta,.cluster,.gpu,.sys}.sync."
           "aligned",
           "[i64], [i64], 128"},
      }};
}

}  // namespace

std::vector<Family> AsynchronousFamilies() { return {Barriers(), Copies(), Tensors()}; }

}  // namespace sassay::emulator
