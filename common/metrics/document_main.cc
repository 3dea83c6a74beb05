// metrics_document: prints docs/metrics.md.
#include <iostream>

#include "common/metrics/metric.h"

int main() {
  std::cout << sassay::metrics::RenderDocument();
  return std::cout.flush() ? 0 : 1;
}
