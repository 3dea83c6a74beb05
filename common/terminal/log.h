// The log of a program that runs for long: lines on standard error, which a terminal may show and a collector may read.
#ifndef SASSAY_COMMON_TERMINAL_LOG_H_
#define SASSAY_COMMON_TERMINAL_LOG_H_

#include <memory>
#include <string>

#include "spdlog/formatter.h"

namespace sassay {

// "[time] [program] [level] text" with the text made harmless by PrintableLine: names of tenants, reasons of clients
// and what a candidate's kernel said are in it, and one text must stay one line, or it could pretend to be another
// entry.
std::unique_ptr<spdlog::formatter> HarmlessLogFormatter();

// Makes spdlog's default logger write so to standard error.
void LogToStandardError(const std::string& program);

}  // namespace sassay

#endif  // SASSAY_COMMON_TERMINAL_LOG_H_
