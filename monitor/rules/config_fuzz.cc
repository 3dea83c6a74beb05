// Whatever an operator's file holds: it is refused with a place, or gives an engine that runs.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "monitor/rules/config.h"
#include "monitor/rules/engine.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using sassay::monitor::Engine;
  const auto config =
      sassay::monitor::ParseConfig(absl::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!config.ok()) {
    if (config.status().message().substr(0, 4) != "fuzz") abort();
    return 0;
  }
  Engine engine(*config, "host");
  for (int i = 0; i < 3; ++i) {
    const absl::Time now = absl::FromUnixSeconds(1000 + i);
    std::vector<sassay::monitor::Sample> samples;
    for (const auto& rule : config->rules()) {
      for (const auto& condition : rule.when())
        samples.push_back({now, "GPU", condition.signal(), 1.0 + i, condition.text()});
    }
    engine.Step({now, now}, samples);
    for (const auto& decision : engine.Due({now, now})) engine.Acknowledge(decision.id, absl::OkStatus(), {now, now});
  }
  return 0;
}
