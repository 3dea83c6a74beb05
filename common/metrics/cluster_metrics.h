// The rows of profiler-service in a cluster: of a node about who hears it, and of whoever admits nodes about them.
#ifndef SASSAY_COMMON_METRICS_CLUSTER_METRICS_H_
#define SASSAY_COMMON_METRICS_CLUSTER_METRICS_H_

#include "common/metrics/metric.h"

namespace sassay::metrics {

// Of a node.
inline constexpr Metric kNodeHeard = {
    "sassay_node_heard",
    Type::kGauge,
    "",
    "1 while a front end hears this node, else 0: then what it runs is given to others when its leases end",
    {}};

inline constexpr const Metric* kNodeMetrics[] = {&kNodeHeard};

// Where nodes are admitted. Nodes have no label of their own: jobs of a pool have names without end; sassay-admin gpus
// names them.
inline constexpr Metric kNodes = {"sassay_nodes",
                                  Type::kGauge,
                                  "",
                                  "Nodes of the last 24 hours; state: living, draining (they take nothing new), silent "
                                  "(not heard of for ten seconds), "
                                  "left (they said so)",
                                  {"state"}};
inline constexpr Metric kNodePlaces = {
    "sassay_node_places", Type::kGauge, "", "Submissions that living nodes, draining ones left out, run at once", {}};
inline constexpr Metric kNodeSilence = {
    "sassay_node_silence_seconds",
    Type::kGauge,
    "seconds",
    "Time since the sign of life of the living node that was heard of longest ago; 0 without one",
    {}};

inline constexpr const Metric* kFrontEndMetrics[] = {&kNodes, &kNodePlaces, &kNodeSilence};

}  // namespace sassay::metrics

#endif  // SASSAY_COMMON_METRICS_CLUSTER_METRICS_H_
