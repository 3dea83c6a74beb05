#include "common/terminal/log.h"

#include "common/terminal/text.h"
#include "spdlog/pattern_formatter.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace sassay {
namespace {

class HarmlessText : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string text = PrintableLine(absl::string_view(message.payload.data(), message.payload.size()));
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<HarmlessText>(); }
};

}  // namespace

std::unique_ptr<spdlog::formatter> HarmlessLogFormatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<HarmlessText>('*').set_pattern("[%Y-%m-%d %H:%M:%S.%e] [%n] [%l] %*");
  return formatter;
}

void LogToStandardError(const std::string& program) {
  const std::shared_ptr<spdlog::logger> logger = spdlog::stderr_logger_mt(program);
  logger->set_formatter(HarmlessLogFormatter());
  spdlog::set_default_logger(logger);
}

}  // namespace sassay
