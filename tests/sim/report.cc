#include "tests/sim/report.h"

#include <algorithm>
#include <cstdio>

namespace sassay::sim {
namespace {

// What those that had work waiting had together, and their weights, piece by piece: whoever asked for less than its
// share left the rest to them (max-min fairness).
struct Contest {
  std::vector<double> used, weights;

  Contest(const std::vector<Course>& courses, size_t pool, size_t pieces) : used(pieces, 0), weights(pieces, 0) {
    for (const Course& course : courses) {
      if (course.pool != pool) continue;
      for (size_t i = 0; i < pieces; ++i) {
        if (!course.waited[i]) continue;
        used[i] += course.used[i];
        weights[i] += course.weight;
      }
    }
  }
  double Entitled(uint32_t weight, size_t piece) const {
    return weights[piece] > 0 ? used[piece] * weight / weights[piece] : 0;
  }
};

}  // namespace

LeastShare FindLeastShare(const std::vector<Course>& courses, Ns window) {
  LeastShare least;
  const size_t length = static_cast<size_t>(window / kPiece);
  for (const Course& course : courses) {
    const size_t pieces = course.used.size();
    const Contest contest(courses, course.pool, pieces);
    double used = 0, entitled = 0;
    size_t waited = 0;
    for (size_t i = 0; i < pieces; ++i) {
      used += course.used[i];
      entitled += contest.Entitled(course.weight, i);
      waited += course.waited[i];
      if (i >= length) {
        used -= course.used[i - length];
        entitled -= contest.Entitled(course.weight, i - length);
        waited -= course.waited[i - length];
      }
      if (waited < length || entitled <= 0) continue;
      ++least.windows;
      if (used / entitled >= least.ratio) continue;
      least.ratio = used / entitled;
      least.tenant = course.tenant;
      least.from = static_cast<Ns>(i + 1 - length) * kPiece;
    }
  }
  return least;
}

double BusyShare(const std::vector<PoolCourse>& pools, Ns from) {
  double busy = 0, available = 0;
  for (const PoolCourse& pool : pools) {
    for (size_t i = static_cast<size_t>(from / kPiece); i < pool.busy.size(); ++i) {
      if (!pool.loaded[i]) continue;
      busy += pool.busy[i];
      available += pool.available[i];
    }
  }
  return available > 0 ? busy / available : 0;
}

float Percentile(std::vector<float>& values, double q) {
  if (values.empty()) return 0;
  const size_t rank = static_cast<size_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(rank), values.end());
  return values[rank];
}

void Print(Report& report, Ns warm_up, Ns window) {
  const auto line = [](const char* what, std::vector<float>& values, const char* unit) {
    const float p50 = Percentile(values, 0.5);
    const float p99 = Percentile(values, 0.99);
    std::printf("%-42s p50 %9.3f  p99 %9.3f %s\n", what, static_cast<double>(p50), static_cast<double>(p99), unit);
  };
  std::printf(
      "%llu submissions, %llu verdicts (%llu given up), at most %llu waited at once; %llu dispatches, %.1f %% warm\n",
      static_cast<unsigned long long>(report.submitted), static_cast<unsigned long long>(report.verdicts),
      static_cast<unsigned long long>(report.given_up), static_cast<unsigned long long>(report.most_waiting),
      static_cast<unsigned long long>(report.dispatched),
      100.0 * static_cast<double>(report.affine) / static_cast<double>(std::max<uint64_t>(report.dispatched, 1)));
  std::printf(
      "%llu nodes lost, %llu killed by poisonous candidates; no submission was lost on more than %zu nodes, nor more "
      "often than %zu times\n",
      static_cast<unsigned long long>(report.nodes_lost), static_cast<unsigned long long>(report.nodes_poisoned),
      report.most_nodes_of_one, report.most_losses);
  line("dispatch, from a free place to its job", report.dispatch_ms, "ms");
  line("one decision (CPU time)", report.decision_us, "us");
  line("wait of interactive submissions", report.waited_s[0], "s");
  line("… of tenants that ask for less than a share", report.people_waited_s, "s");
  line("wait of batch submissions", report.waited_s[1], "s");
  std::printf("longest waits: interactive %.1f s, batch %.1f s\n", static_cast<double>(report.longest_wait_s[0]),
              static_cast<double>(report.longest_wait_s[1]));
  std::printf("GPU busy while work waits: %.2f %%\n", 100 * BusyShare(report.pools, warm_up));
  const LeastShare least = FindLeastShare(report.courses, window);
  std::printf("least share of a tenant over %.0f min with work waiting: %.1f %% (%s, from %.0f s; %llu windows)\n",
              Seconds(window) / 60, 100 * least.ratio, least.tenant.c_str(), Seconds(least.from),
              static_cast<unsigned long long>(least.windows));
  for (const Course& course : report.courses) {
    double used = 0;
    for (const double seconds : course.used) used += seconds;
    std::printf("  %-12s weight %3u  pool %zu  %8llu verdicts  %10.0f GPU s\n", course.tenant.c_str(), course.weight,
                course.pool, static_cast<unsigned long long>(course.verdicts), used);
  }
  std::printf("simulated in %.1f s\n", report.wall_seconds);
}

}  // namespace sassay::sim
