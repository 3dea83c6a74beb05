#include "common/process/thread_stop.h"

#include <utility>

namespace sassay {
namespace {

thread_local const StopAsked* current = nullptr;

}  // namespace

ThreadStop::ThreadStop(StopAsked stop) : stop_(std::move(stop)), outer_(current) { current = &stop_; }

ThreadStop::~ThreadStop() { current = outer_; }

const StopAsked* ThreadStop::Current() { return current != nullptr && *current ? current : nullptr; }

}  // namespace sassay
